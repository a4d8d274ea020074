package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const hello = `package main

import "fmt"

var version, commit = "unset", "unset"

func main() { fmt.Println(version, commit) }
`

const listed = `user: "65532:65532"
licenses: Apache-2.0
images:
- name: hello
  title: hello
  description: Prints its version
  programs: [{package: ./cmd/hello, to: /bin/hello}]
  certificates: true
  entrypoint: [/bin/hello]
- name: papers
  suffix: -papers
  title: papers
  description: Only files
  files:
  - {from: papers/a, to: /a}
  - {from: papers/annotations.yaml, to: /b/annotations.yaml}
  labelsFrom: papers/annotations.yaml
`

// repository writes a small repository with one program and some files.
func repository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.com/hello\n\ngo 1.26\n")
	write(t, filepath.Join(root, "cmd/hello/main.go"), hello)
	write(t, filepath.Join(root, "papers/a/one.yaml"), "1")
	write(t, filepath.Join(root, "papers/a/deep/two.yaml"), "2")
	write(t, filepath.Join(root, "papers/annotations.yaml"), "annotations:\n  example.com/channel: stable\n")
	write(t, filepath.Join(root, "images.yaml"), listed)
	return root
}

// images runs the command on a repository.
func images(t *testing.T, command, root string, more ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	args := append([]string{command, "-root", root, "-config", "images.yaml", "-out", filepath.Join(root, "dist"),
		"-version", "1.2.3", "-revision", "abc", "-time", "1700000000", "-source", "https://example.com/hello"}, more...)
	err := run(t.Context(), args, &out)
	return out.String(), err
}

func TestTwoBuildsGiveTheSameDigests(t *testing.T) {
	first, err := images(t, "build", repository(t))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(first, "@sha256:"); lines != 2 {
		t.Fatalf("built %q, want two images", first)
	}
	// Another folder, other times and modes.
	root := repository(t)
	for _, file := range []string{"papers/a/one.yaml", "cmd/hello/main.go"} {
		file = filepath.Join(root, file)
		if err := errors.Join(os.Chmod(file, 0o600), os.Chtimes(file, time.Unix(1, 0), time.Unix(1, 0))); err != nil {
			t.Fatal(err)
		}
	}
	second, err := images(t, "build", root)
	if err != nil {
		t.Fatal(err)
	}
	if first != second {
		t.Errorf("digests differ:\n%s%s", first, second)
	}
	if again, err := images(t, "build", root); err != nil || again != first {
		t.Errorf("a build over an earlier one: %v\n%s%s", err, first, again)
	}
	// What is in it does matter.
	write(t, filepath.Join(root, "papers/a/one.yaml"), "other")
	changed, err := images(t, "build", root, "papers")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(first, changed) {
		t.Errorf("another content gives the same digest: %s", changed)
	}
}

func checkConfiguration(t *testing.T, image v1.Image, entrypoint []string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, entrypoint) {
		t.Errorf("user %q, entrypoint %q", config.Config.User, config.Config.Entrypoint)
	}
	if want := time.Unix(1700000000, 0).UTC(); !config.Created.Equal(want) {
		t.Errorf("created %s, want %s", config.Created, want)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, told := range []map[string]string{config.Config.Labels, manifest.Annotations} {
		for name, want := range map[string]string{"version": "1.2.3", "revision": "abc", "licenses": "Apache-2.0",
			"source": "https://example.com/hello", "created": "2023-11-14T22:13:20Z"} {
			if got := told["org.opencontainers.image."+name]; got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
	}
}

// checkDocument checks that the registry knows the SPDX document of the image.
func checkDocument(t *testing.T, base string, image v1.Image) {
	t.Helper()
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	repository, err := name.NewRepository(base)
	if err != nil {
		t.Fatal(err)
	}
	referrers, err := remote.Referrers(repository.Digest(digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := referrers.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%d objects refer to the image, want its SPDX document", len(manifest.Manifests))
	}
	attached := pull(t, repository.Digest(manifest.Manifests[0].Digest.String()).String())
	layers, err := attached.Layers()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	var sbom document
	if err := json.NewDecoder(reader).Decode(&sbom); err != nil {
		t.Fatal(err)
	}
	var locators []string
	for _, p := range sbom.Packages {
		for _, r := range p.References {
			locators = append(locators, r.Locator)
		}
	}
	if !slices.Contains(locators, "pkg:golang/stdlib@"+strings.TrimPrefix(runtime.Version(), "go")) ||
		!slices.Contains(locators, "pkg:golang/example.com/hello@1.2.3") {
		t.Errorf("modules = %v", locators)
	}
	if !slices.ContainsFunc(sbom.Files, func(f spdxFile) bool { return f.Name == "./bin/hello" }) {
		t.Errorf("files = %v", sbom.Files)
	}
}

func TestWhatIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, root string)
		args   []string
		want   string
	}{
		"an unknown field": {
			change: func(t *testing.T, root string) {
				write(t, filepath.Join(root, "images.yaml"), strings.Replace(listed, "certificates:", "certs:", 1))
			},
			want: "field certs not found",
		},
		"two images of one name": {
			change: func(t *testing.T, root string) {
				write(t, filepath.Join(root, "images.yaml"), strings.Replace(listed, "name: papers", "name: hello", 1))
			},
			want: `two images called "hello"`,
		},
		"a relative path in an image": {
			change: func(t *testing.T, root string) {
				write(t, filepath.Join(root, "images.yaml"), strings.Replace(listed, "to: /a", "to: a", 1))
			},
			want: `"a" is not an absolute path`,
		},
		"a folder that is not there": {
			change: func(t *testing.T, root string) {
				if err := os.RemoveAll(filepath.Join(root, "papers/a")); err != nil {
					t.Fatal(err)
				}
			},
			want: "papers/a: no such file",
		},
		"an output folder with something else in it": {
			change: func(t *testing.T, root string) {
				write(t, filepath.Join(root, "dist/papers/thesis.txt"), "years of work")
			},
			want: "is not an OCI layout",
		},
		"an unknown image":            {args: []string{"scans"}, want: `there is no image "scans"`},
		"a platform without its half": {args: []string{"-platforms", "linux", "papers"}, want: `"linux" is not of the form`},
		"a time that is no number":    {args: []string{"-time", "today", "papers"}, want: `-time "today"`},
	} {
		t.Run(name, func(t *testing.T) {
			root := repository(t)
			if tc.change != nil {
				tc.change(t, root)
			}
			if tc.args == nil {
				tc.args = []string{"papers"}
			}
			if _, err := images(t, "build", root, tc.args...); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTheImagesOfTheProject(t *testing.T) {
	config, err := readConfig(filepath.Join("..", ".."), "tools/images/images.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, listed := range config.Images {
		if listed.Name == "catalog" && tool("opm") == "" {
			t.Log("bin/opm is not built: the image of the catalog is not made here")
			continue
		}
		names = append(names, listed.Name)
	}
	base := startRegistry(t) + "/aimodel-operator"
	do := func(root, target string) []string {
		command := exec.CommandContext(t.Context(), "make", target, "IMAGES="+strings.Join(names, " "), "IMAGE_TAG_BASE="+base, "VERSION=1.2.3",
			"REVISION=abc", "SOURCE_DATE_EPOCH=1700000000", "SOURCE_URL=https://example.com/hello", "PLATFORMS=linux/"+runtime.GOARCH)
		command.Dir = root
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("make %s: %v\n%s", target, err, out)
		}
		var built []string
		for _, line := range strings.Split(string(out), "\n") {
			if strings.HasPrefix(line, base) {
				built = append(built, line)
			}
		}
		return built
	}
	root := copyOf(t, filepath.Join("..", ".."))
	built, again := do(root, "images"), do(copyOf(t, filepath.Join("..", "..")), "images")
	if !slices.Equal(built, again) || len(built) != len(names) {
		t.Errorf("two copies of the repository give\n%s\n%s", built, again)
	}
	if pushed := do(root, "push"); !slices.Equal(pushed, built) {
		t.Errorf("pushed\n%s\nwant\n%s", pushed, built)
	}
	for _, listed := range config.Images {
		if slices.Contains(names, listed.Name) {
			t.Run(listed.Name, func(t *testing.T) { checkPushed(t, base, &listed) })
		}
	}
}

// checkPushed checks an image as somebody gets it who pulls it.
func checkPushed(t *testing.T, base string, listed *image) {
	t.Helper()
	pulled := pull(t, base+listed.Suffix+":1.2.3")
	checkConfiguration(t, pulled, listed.Entrypoint)
	for _, p := range listed.Programs {
		if runtime.GOOS != "linux" {
			t.Skip("the program is one for Linux")
		}
		if got := runIn(t, pulled, strings.TrimPrefix(p.To, "/")); got != "1.2.3\n" {
			t.Errorf("%s --version says %q, want 1.2.3", p.To, got)
		}
	}
	if listed.Certificates && !slices.Contains(extract(t, pulled), strings.TrimPrefix(certificatesPath, "/")) {
		t.Errorf("there is no %s", certificatesPath)
	}
	want := map[string]string{
		"bundle":  "name: aimodel-operator.v",
		"catalog": "image: " + base + "-bundle@sha256:", // not a tag, which may move
	}[listed.Name]
	if want == "" || tool("opm") == "" {
		return
	}
	out, err := exec.CommandContext(t.Context(), tool("opm"), "render", base+listed.Suffix+":1.2.3", "--use-http", "-o", "yaml").CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		t.Errorf("opm reads of it %v\n%s\nwhich lacks %s", err, out, want)
	}
}

// tool is the path of a program in bin/; empty where it is not built.
func tool(program string) string {
	path, err := filepath.Abs(filepath.Join("..", "..", "bin", program))
	if err != nil {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// copyOf copies what git would carry of the repository to another folder, where the tools that are built already are too.
func copyOf(t *testing.T, root string) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	names, err := list.Output()
	if err != nil {
		t.Skipf("this is no git repository: %v", err)
	}
	target := t.TempDir()
	for _, tool := range []string{"opm", ".opm.key"} {
		from, err := filepath.Abs(filepath.Join(root, "bin", tool))
		if err == nil {
			err = os.MkdirAll(filepath.Join(target, "bin"), 0o755)
		}
		if err == nil {
			err = os.Symlink(from, filepath.Join(target, "bin", tool))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range strings.Split(strings.TrimRight(string(names), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue // deleted and not committed, or a link to a folder
		}
		write(t, filepath.Join(target, name), string(data))
		// As git would check it out: executable or not.
		info, err := os.Stat(filepath.Join(root, name))
		if err == nil && info.Mode()&0o100 != 0 {
			err = os.Chmod(filepath.Join(target, name), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return target
}

func TestCertificates(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"certificates"}, &out); err != nil {
		t.Fatal(err)
	}
	if count := strings.Count(out.String(), "BEGIN CERTIFICATE"); count < 100 {
		t.Errorf("there are %d certificates", count)
	}
	if !strings.Contains(out.String(), "# CN=ISRG Root X1,O=Internet Security Research Group,C=US\n-----BEGIN") {
		t.Error("ISRG Root X1 is not among the certificates")
	}
}
