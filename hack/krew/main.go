// Command krew packs the builds of the kubectl plugin for a release: an archive for each platform, the checksums of all, and the
// manifest with which Krew installs them. The same builds give the same bytes.
//
//	krew -dir dist/plugin -version x.y.z -url https://example.com/releases/vx.y.z
//
// The builds are in DIR/OS-ARCH/kubectl-aimodel, with .exe for Windows.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	// name is what the plugin is called after "kubectl".
	name     = "aimodel"
	homepage = "https://github.com/aimodel-operator/aimodel-operator"
)

// platform is one build.
type platform struct{ os, arch string }

func (p platform) binary() string {
	if p.os == "windows" {
		return "kubectl-" + name + ".exe"
	}
	return "kubectl-" + name
}

func main() {
	dir := flag.String("dir", "dist/plugin", "the `folder` of the builds, and of what is written")
	version := flag.String("version", "", "the `version`, without a leading v")
	url := flag.String("url", "", "where the archives are going to be, without the name of a file")
	extra := flag.String("extra", "LICENSE,hack/krew/kubectl_complete-aimodel", "comma-separated `files` that each archive has too")
	flag.Parse()
	if err := run(*dir, *version, *url, strings.Split(*extra, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}

func run(dir, version, url string, extra []string) error {
	if version == "" || url == "" {
		return fmt.Errorf("-version and -url are needed")
	}
	platforms, err := builds(dir)
	if err != nil {
		return err
	}
	var checksums strings.Builder
	var entries []map[string]any
	for _, p := range platforms {
		data, err := pack(dir, p, extra)
		if err != nil {
			return err
		}
		file := fmt.Sprintf("kubectl-%s_%s_%s_%s.tar.gz", name, version, p.os, p.arch)
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			return fmt.Errorf("write the archive: %w", err)
		}
		sum := sha256.Sum256(data)
		digest := hex.EncodeToString(sum[:])
		fmt.Fprintf(&checksums, "%s  %s\n", digest, file)
		entries = append(entries, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]string{"os": p.os, "arch": p.arch}},
			"uri":      strings.TrimSuffix(url, "/") + "/" + file,
			"sha256":   digest,
			"bin":      p.binary(),
		})
	}
	if err := os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(checksums.String()), 0o644); err != nil {
		return fmt.Errorf("write the checksums: %w", err)
	}
	manifest, err := yaml.Marshal(manifestOf(version, entries))
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".yaml"), manifest, 0o644); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}

func manifestOf(version string, platforms []map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
		"kind":       "Plugin",
		"metadata":   map[string]any{"name": name},
		"spec": map[string]any{
			"version":          "v" + version,
			"homepage":         homepage,
			"shortDescription": "Look after AI models served on GPUs",
			"description": "Shows why an AI model that aimodel-operator serves is not up, with the cause marked and what to do about it;\n" +
				"what the operator would apply for it, without a cluster or compared with one; all models with the GPUs that\n" +
				"they ask for and have; and converts models from KServe and NVIDIA NIM.\n",
			"caveats":   "The cluster needs aimodel-operator, but for the commands render and convert: " + homepage + "\n",
			"platforms": platforms,
		},
	}
}

// builds lists the platforms that were built, by name.
func builds(dir string) ([]platform, error) {
	found, err := filepath.Glob(filepath.Join(dir, "*-*", "kubectl-"+name+"*"))
	if err != nil {
		return nil, fmt.Errorf("look for builds: %w", err)
	}
	sort.Strings(found)
	var platforms []platform
	for _, file := range found {
		system, arch, _ := strings.Cut(filepath.Base(filepath.Dir(file)), "-")
		p := platform{system, arch}
		if filepath.Base(file) == p.binary() {
			platforms = append(platforms, p)
		}
	}
	if len(platforms) == 0 {
		return nil, fmt.Errorf("there is no build in %s", dir)
	}
	return platforms, nil
}

// pack makes the archive of one platform. Nothing in it depends on when or where it is made.
func pack(dir string, p platform, extra []string) ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, file := range append([]string{filepath.Join(dir, p.os+"-"+p.arch, p.binary())}, extra...) {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("pack: %w", err)
		}
		mode := int64(0o755)
		if filepath.Base(file) == "LICENSE" {
			mode = 0o644
		}
		header := &tar.Header{Name: filepath.Base(file), Mode: mode, Size: int64(len(data)), ModTime: time.Unix(0, 0)}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", file, err)
		}
		if _, err := archive.Write(data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", file, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	if err := compressed.Close(); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return out.Bytes(), nil
}
