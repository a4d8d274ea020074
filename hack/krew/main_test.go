package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// manifest is what Krew reads, as far as it must be there.
type manifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Caveats          string `json:"caveats"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			SHA256 string `json:"sha256"`
			Bin    string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

func build(t *testing.T, dir string, platforms ...string) {
	t.Helper()
	for _, p := range platforms {
		binary := "kubectl-aimodel"
		if strings.HasPrefix(p, "windows") {
			binary += ".exe"
		}
		if err := os.MkdirAll(filepath.Join(dir, p), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, p, binary), []byte("program for "+p), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheManifestIsWhatKrewWants(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, "linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64", "windows-arm64")
	if err := run(dir, "1.2.3", "https://example.com/v1.2.3/", []string{"../../LICENSE", "kubectl_complete-aimodel"}); err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.UnmarshalStrict(read(t, dir, "aimodel.yaml"), &m); err != nil {
		t.Fatal(err)
	}
	switch {
	case m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata.Name != "aimodel":
		t.Errorf("it is a %s %s %q", m.APIVersion, m.Kind, m.Metadata.Name)
	case !regexp.MustCompile(`^v\d+\.\d+\.\d+`).MatchString(m.Spec.Version):
		t.Errorf("the version is %q", m.Spec.Version)
	case len(m.Spec.ShortDescription) > 50 || m.Spec.ShortDescription == "" || strings.HasSuffix(m.Spec.ShortDescription, "."):
		t.Errorf("the short description is %q", m.Spec.ShortDescription)
	case m.Spec.Description == "" || !strings.HasPrefix(m.Spec.Homepage, "https://") || len(m.Spec.Platforms) != 6:
		t.Errorf("it lacks something: %+v", m.Spec)
	}
	for _, p := range m.Spec.Platforms {
		file := path.Base(p.URI)
		data := read(t, dir, file)
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != p.SHA256 {
			t.Errorf("%s has the digest %s, not %s", file, got, p.SHA256)
		}
		if !strings.Contains(string(read(t, dir, "checksums.txt")), p.SHA256+"  "+file+"\n") {
			t.Errorf("checksums.txt lacks %s", file)
		}
		if !strings.HasPrefix(p.URI, "https://example.com/v1.2.3/kubectl-aimodel_1.2.3_") {
			t.Errorf("the address is %q", p.URI)
		}
		files := unpack(t, data)
		want := "program for " + p.Selector.MatchLabels["os"] + "-" + p.Selector.MatchLabels["arch"]
		if files[p.Bin] != want || files["LICENSE"] == "" || files["kubectl_complete-aimodel"] == "" {
			t.Errorf("%s has %v", file, files)
		}
	}
}

func TestTheSameBuildsGiveTheSameBytes(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, other} {
		build(t, dir, "linux-amd64", "windows-amd64")
		if err := run(dir, "1.2.3", "https://example.com", []string{"../../LICENSE"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"checksums.txt", "aimodel.yaml", "kubectl-aimodel_1.2.3_windows_amd64.tar.gz"} {
		if !bytes.Equal(read(t, one, file), read(t, other, file)) {
			t.Errorf("%s differs", file)
		}
	}
}

func TestNothingIsPackedOfNothing(t *testing.T) {
	if err := run(t.TempDir(), "1.2.3", "https://example.com", nil); err == nil {
		t.Error("there was no build, and no error")
	}
}

func read(t *testing.T, dir, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unpack(t *testing.T, data []byte) map[string]string {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for reader := tar.NewReader(compressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(header.Name, "kubectl") && header.Mode&0o111 == 0 {
			t.Errorf("%s cannot be run", header.Name)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(content)
	}
}
