package main

import (
	"archive/tar"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// TestDockerfilesGiveTheSameImages builds every Dockerfile with buildah and holds that the image has the same files, with the
// same modes, and starts the same as that which `make images` builds. Nothing is pulled: what stands in for the image of Go is
// an empty one, into which this machine's Go and the modules that it has are mounted.
func TestDockerfilesGiveTheSameImages(t *testing.T) {
	if _, err := exec.LookPath("buildah"); err != nil || runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("SKIPPED: no buildah is installed, or this is not root: Dockerfiles are only read here, not built")
	}
	const base = "example.com/op"
	root := copyOf(t, filepath.Join("..", ".."))
	config, err := readConfig(root, "tools/images/images.yaml")
	if err != nil {
		t.Fatal(err)
	}
	engine := newBuildah(t, root)
	for _, listed := range config.Images {
		t.Run(listed.Dockerfile, func(t *testing.T) {
			if listed.Name == "catalog" && tool("opm") == "" {
				t.Skip("SKIPPED: bin/opm is not built, which makes the catalog")
			}
			// The catalog needs the image of the bundle, which is built before it.
			runCommand(t, root, "make", "images", "IMAGES="+listed.Name, "IMAGE_TAG_BASE="+base, "VERSION=1.2.3", "REVISION=abc",
				"SOURCE_DATE_EPOCH=1700000000", "SOURCE_URL=https://example.com/hello", "PLATFORMS=linux/"+runtime.GOARCH)
			want := imageOf(t, filepath.Join(root, "dist/images", listed.Name))
			got := engine.build(t, listed.Dockerfile)
			compareFiles(t, filesOf(t, want), filesOf(t, got))
			compareConfigurations(t, want, got, listed.LabelsFrom != "")
		})
	}
}

func runCommand(t *testing.T, folder, program string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// buildah builds images of a folder, with a store of its own.
type buildah struct {
	context string
	flags   []string
	mounts  []string
	output  string
}

const standIn = "docker.io/library/golang:stand-in"

func newBuildah(t *testing.T, context string) *buildah {
	t.Helper()
	store := t.TempDir()
	t.Cleanup(func() { unmountBelow(t, store) }) // before the folder is deleted
	t.Setenv("TMPDIR", store)
	b := &buildah{context: context, output: filepath.Join(store, "layout"), flags: []string{
		"--storage-driver", "vfs", "--root", filepath.Join(store, "root"), "--runroot", filepath.Join(store, "run"),
	}}
	settings := map[string]string{}
	for _, name := range []string{"GOROOT", "GOCACHE", "GOMODCACHE"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		settings[name] = strings.TrimSpace(string(out))
	}
	for _, module := range []string{".", "tools/images"} { // what the builds may not fetch
		runCommand(t, filepath.Join(context, module), "go", "mod", "download")
	}
	for _, folder := range []string{"/bin", "/lib", "/lib64", "/usr", settings["GOROOT"], settings["GOMODCACHE"]} {
		if real, err := filepath.EvalSymlinks(folder); err == nil {
			b.mounts = append(b.mounts, "--volume", real+":"+folder+":ro")
		}
	}
	b.mounts = append(b.mounts, "--volume", settings["GOCACHE"]+":"+settings["GOCACHE"], "--volume", t.TempDir()+":/tmp")

	empty := t.TempDir()
	write(t, filepath.Join(empty, "Dockerfile"), fmt.Sprintf("FROM scratch\nENV PATH=%s/bin:/usr/bin:/bin GOCACHE=%s GOMODCACHE=%s GOPROXY=off GOTOOLCHAIN=local HOME=/home\n",
		settings["GOROOT"], settings["GOCACHE"], settings["GOMODCACHE"]))
	b.run(t, "bud", "--isolation", "chroot", "--tag", standIn, empty)
	return b
}

func (b *buildah) run(t *testing.T, command string, args ...string) {
	t.Helper()
	runCommand(t, b.context, "buildah", slices.Concat(b.flags, []string{command}, args)...)
}

// build builds a Dockerfile and returns the image.
func (b *buildah) build(t *testing.T, dockerfile string) v1.Image {
	t.Helper()
	b.run(t, "bud", slices.Concat([]string{"--isolation", "chroot", "--pull-never", "--format", "oci"}, b.mounts, []string{
		"--build-arg", "GO_VERSION=stand-in", "--build-arg", "VERSION=1.2.3", "--build-arg", "REVISION=abc",
		"--build-arg", "SOURCE=https://example.com/hello", "--file", dockerfile, "--tag", "built", b.context,
	})...)
	if err := os.RemoveAll(b.output); err != nil {
		t.Fatal(err)
	}
	b.run(t, "push", "built", "oci:"+b.output)
	return imageOf(t, b.output)
}

// unmountBelow takes away mounts that a build may have left, so that nothing that they show is deleted.
func unmountBelow(t *testing.T, folder string) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range slices.Backward(strings.Split(string(mounts), "\n")) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], folder) {
			if out, err := exec.Command("umount", "-l", fields[4]).CombinedOutput(); err != nil {
				panic(fmt.Sprintf("%s stays mounted, so that %s must not be deleted: %v %s", fields[4], folder, err, out))
			}
		}
	}
}

// imageOf reads the image of this machine's platform from an OCI layout.
func imageOf(t *testing.T, folder string) v1.Image {
	t.Helper()
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	for {
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		first := manifest.Manifests[0]
		if !first.MediaType.IsIndex() {
			image, err := index.Image(first.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return image
		}
		if index, err = index.ImageIndex(first.Digest); err != nil {
			t.Fatal(err)
		}
	}
}

// filesOf tells kind, owner, mode and content of each file of an image.
func filesOf(t *testing.T, image v1.Image) map[string]string {
	t.Helper()
	files := map[string]string{}
	eachFile(t, image, func(header *tar.Header, data []byte) {
		sum := sha256.Sum256(data)
		name := strings.Trim(header.Name, "/")
		files[name] = fmt.Sprintf("%c %d:%d %o %x", header.Typeflag, header.Uid, header.Gid, header.Mode&0o7777, sum[:8])
	})
	return files
}

func compareFiles(t *testing.T, want, got map[string]string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("the image is empty")
	}
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if want[name] != got[name] {
			t.Errorf("%s: the Dockerfile gives %q, make images %q", name, got[name], want[name])
		}
	}
}

// compareConfigurations compares what a container starts with, and labels. Of a Dockerfile that is generated only those that
// it has, since nobody can add to it.
func compareConfigurations(t *testing.T, want, got v1.Image, generated bool) {
	t.Helper()
	wanted, err := want.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	built, err := got.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(built.Config.Entrypoint, wanted.Config.Entrypoint) || len(built.Config.Cmd) > 0 {
		t.Errorf("the Dockerfile starts %q %q, make images %q", built.Config.Entrypoint, built.Config.Cmd, wanted.Config.Entrypoint)
	}
	if !generated && built.Config.User != wanted.Config.User {
		t.Errorf("the user of the Dockerfile is %q, of make images %q", built.Config.User, wanted.Config.User)
	}
	if built.Architecture != wanted.Architecture || built.OS != wanted.OS {
		t.Errorf("the Dockerfile gives %s/%s, make images %s/%s", built.OS, built.Architecture, wanted.OS, wanted.Architecture)
	}
	maps.DeleteFunc(built.Config.Labels, func(name, _ string) bool { return strings.HasPrefix(name, "io.buildah.") })
	delete(wanted.Config.Labels, annotation+"created") // a container engine keeps the date elsewhere
	maps.DeleteFunc(wanted.Config.Labels, func(name, _ string) bool {
		_, has := built.Config.Labels[name]
		return generated && !has
	})
	if !maps.Equal(built.Config.Labels, wanted.Config.Labels) {
		t.Errorf("the labels of the Dockerfile are %v, of make images %v", built.Config.Labels, wanted.Config.Labels)
	}
}
