package packaging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// shell runs a program in a folder and returns what it printed.
func shell(t *testing.T, folder string, env []string, program string, args ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = folder
	command.Env = append(os.Environ(), env...)
	out, err := command.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, folder, program string, args ...string) string {
	t.Helper()
	out, err := shell(t, folder, nil, program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// repository copies the files of this repository, as they are now, into a git repository of its own with a remote.
func repository(t *testing.T) (folder, remote string) {
	t.Helper()
	folder, remote = t.TempDir(), t.TempDir()
	from, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	must(t, remote, "git", "init", "-q", "--bare")
	must(t, folder, "git", "init", "-q", "-b", "main")
	list := must(t, from, "git", "ls-files", "--cached", "--others", "--exclude-standard")
	for _, name := range strings.Split(list, "\n") {
		if _, err := os.Lstat(filepath.Join(from, name)); os.IsNotExist(err) {
			continue // deleted, and that is not committed
		}
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		copyFile(t, filepath.Join(from, name), filepath.Join(folder, name))
	}
	for _, setting := range [][]string{{"user.name", "Tester"}, {"user.email", "tester@example.com"}, {"commit.gpgsign", "false"}} {
		must(t, folder, "git", "config", setting[0], setting[1])
	}
	must(t, folder, "git", "add", "--all")
	must(t, folder, "git", "commit", "-q", "-m", "All")
	must(t, folder, "git", "remote", "add", "origin", remote)
	// The tools that are built already.
	if err := os.Symlink(filepath.Join(from, "bin"), filepath.Join(folder, "bin")); err != nil {
		t.Fatal(err)
	}
	return folder, remote
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Lstat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, to); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func contains(t *testing.T, what, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", what, want, text)
		}
	}
}

func TestTheVersionIsTheSameEverywhere(t *testing.T) {
	must(t, root, "hack/version.sh", "check")

	folder, _ := repository(t)
	must(t, folder, "hack/version.sh", "set", "7.8.9-rc.1", "registry.example.com/op")
	contains(t, "Chart.yaml", read(t, folder, "charts/aimodel-operator/Chart.yaml"), "version: 7.8.9-rc.1\n", `appVersion: "7.8.9-rc.1"`)
	contains(t, "values.yaml", read(t, folder, "charts/aimodel-operator/values.yaml"), "  repository: registry.example.com/op\n")
	if got := must(t, folder, "make", "-s", "show-IMG"); got != "registry.example.com/op:7.8.9-rc.1" {
		t.Errorf("IMG = %s", got)
	}

	for _, wrong := range []string{"1.2", "v1.2.3", "01.2.3", "1.2.3+build", ""} {
		if out, err := shell(t, folder, nil, "hack/version.sh", "set", wrong); err == nil {
			t.Errorf("the version %q is taken: %s", wrong, out)
		}
	}
	chart := filepath.Join(folder, "charts/aimodel-operator/Chart.yaml")
	if err := os.WriteFile(chart, []byte(strings.ReplaceAll(read(t, chart), "7.8.9-rc.1", "7.8.8")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := shell(t, folder, nil, "hack/version.sh", "check")
	if err == nil {
		t.Error("a chart of another version passes")
	}
	contains(t, "the complaint", out, "Chart.yaml", `"7.8.8"`)
}

func TestAReleaseIsMadeOfACommitThatIsNew(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, folder string)
		env    []string
		want   string
	}{
		"changes that are not committed": {
			change: func(t *testing.T, folder string) {
				if err := os.WriteFile(filepath.Join(folder, "README.md"), []byte("new"), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			want: "not committed",
		},
		"a tag that exists": {
			change: func(t *testing.T, folder string) { must(t, folder, "git", "tag", "v9.9.9") },
			want:   "the tag v9.9.9 exists",
		},
		"an empty changelog": {
			change: func(t *testing.T, folder string) {
				if err := os.WriteFile(filepath.Join(folder, "CHANGELOG.md"), []byte("# Changelog\n\n## Unreleased\n\n## 9.9.8\n- x\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				must(t, folder, "git", "commit", "-q", "-a", "-m", "No news")
			},
			want: "nothing under Unreleased",
		},
		"a key that is not there":           {env: []string{"SIGNING_KEY=nowhere"}, want: "there is no key nowhere"},
		"images whose digests nobody knows": {env: []string{"PUBLISH=1", "IMAGE_MIRROR=127.0.0.1:1"}, want: "the images of runtimes cannot be named by digest"},
		"no remote to publish to":           {env: []string{"PUBLISH=1", "REMOTE=elsewhere"}, want: "there is no remote elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, _ := repository(t)
			if tc.change != nil {
				tc.change(t, folder)
			}
			out, err := shell(t, folder, append(tc.env, "VERSION=9.9.9"), "hack/release.sh")
			if err == nil {
				t.Error("the release is made")
			}
			contains(t, "the complaint", out, tc.want)
		})
	}
}

// TestRelease makes a whole release: first without publishing, then to a registry and a git remote on this machine.
func TestRelease(t *testing.T) {
	folder, remote := repository(t)
	current := must(t, folder, "hack/version.sh", "show")
	must(t, folder, "git", "tag", "v9.9.8")
	must(t, folder, "git", "tag", "v9.9.9-rc.1") // no final version, so not what this one replaces
	keys := t.TempDir()
	must(t, keys, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "release", "-f", filepath.Join(keys, "key"))
	registry := startRegistry(t)
	base, mirror := "registry.example.com/team/op", "127.0.0.1:1"
	if registry != "" {
		base, mirror = registry+"/team/op", registry
		pushRuntimeImages(t, registry)
	}
	env := []string{"VERSION=9.9.9", "IMAGE_TAG_BASE=" + base, "IMAGE_MIRROR=" + mirror, "SIGNING_KEY=" + filepath.Join(keys, "key"),
		// One platform each: compiling for all takes minutes.
		"PLATFORMS=linux/" + runtime.GOARCH, "PLUGIN_PLATFORMS=linux/" + runtime.GOARCH, "PLUGIN_URL=" + pluginURL}

	head := must(t, folder, "git", "rev-parse", "HEAD")
	out, err := shell(t, folder, env, "hack/release.sh")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	contains(t, "the dry run", out, "This was a dry run", base+":9.9.9@sha256:", "the tag v9.9.9 to origin ("+remote+")",
		"After that, upload the files of dist/release to "+pluginURL+",", "  "+pluginArchive+"\n")
	if now := must(t, folder, "git", "status", "--porcelain", "--untracked-files=no"); now != "" || must(t, folder, "git", "rev-parse", "HEAD") != head {
		t.Errorf("the dry run changed the repository: %s", now)
	}
	if refs := must(t, remote, "git", "for-each-ref"); refs != "" {
		t.Errorf("the dry run pushed %s", refs)
	}
	checkRelease(t, filepath.Join(folder, "dist/release"), base, filepath.Join(keys, "key.pub"))
	checkPlugin(t, filepath.Join(folder, "dist/release"))
	if registry == "" {
		t.Log("docker-registry is not installed: publishing is not tested here")
		return
	}
	if catalog := fetch(t, "http://"+registry+"/v2/_catalog"); strings.Contains(catalog, "team/op") {
		t.Errorf("the dry run pushed images: %s", catalog)
	}

	if out, err = shell(t, folder, append(env, "PUBLISH=1"), "hack/release.sh"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"op", "op-scorecard", "op-bundle", "op-catalog", "charts/aimodel-operator"} {
		contains(t, name, fetch(t, "http://"+registry+"/v2/team/"+name+"/tags/list"), `"9.9.9"`)
	}
	tagged := must(t, remote, "git", "rev-parse", "v9.9.9^{commit}")
	if got := must(t, remote, "git", "rev-parse", "main"); got != tagged {
		t.Errorf("main is %s, the tag is at %s", got, tagged)
	}
	contains(t, "the changelog of the tag", must(t, remote, "git", "show", "v9.9.9:CHANGELOG.md"), "## Unreleased\n\n## 9.9.9 - 2")
	contains(t, "the Makefile of the tag", must(t, remote, "git", "show", "v9.9.9:Makefile"), "VERSION ?= 9.9.9\n", "IMAGE_TAG_BASE ?= "+base+"\n")
	checkNothingIsStale(t, remote, "v9.9.9", current)

	// What the Lifecycle Manager gets of it, by the program that it reads catalogs with.
	opm, err := filepath.Abs(filepath.Join(root, "bin/opm"))
	if err != nil {
		t.Fatal(err)
	}
	catalog := must(t, folder, opm, "render", "--use-http", "-o", "yaml", base+"-catalog:9.9.9")
	contains(t, "the catalog", catalog, "image: "+base+"-bundle@sha256:", "name: aimodel-operator.v9.9.9\n", "replaces: aimodel-operator.v9.9.8\n",
		"skipRange: '>=0.0.0-0 <9.9.9'\n")
	bundle := must(t, folder, opm, "render", "--use-http", "-o", "yaml", base+"-bundle:9.9.9")
	contains(t, "the bundle", bundle, "- image: "+base+"@sha256:", "name: aimodel-operator.v9.9.9\n")
	_, related, _ := strings.Cut(bundle, "\nrelatedImages:\n")
	contains(t, "what is to be mirrored", related, base+"@sha256:", presetImages(t)[0].Repository+"@sha256:")
	for line := range strings.Lines(related) {
		image, ok := strings.CutPrefix(strings.TrimSpace(line), "- image: ")
		if ok && !strings.Contains(image, "@sha256:") && image != base+"-bundle:9.9.9" { // which opm was asked for by tag
			t.Errorf("%s is named by tag", image)
		}
	}
}

// mayKeep are the files in which a number like that of a version may be something else: a version of a dependency, an example, a
// release of the past, or the version of what is embedded and has one of its own.
var mayKeep = []string{"*_test.go", "*go.mod", "*go.sum", "*package-lock.json", "CHANGELOG.md", "docs/release.md", "docs/decisions", "hack/version.sh",
	"helm-charts/*/Chart.yaml"}

// checkNothingIsStale holds that no file of a release still has the version of before.
func checkNothingIsStale(t *testing.T, repository, commit, version string) {
	t.Helper()
	args := []string{"grep", "-I", "-n", "-w", "-F", version, commit, "--", "."}
	for _, file := range mayKeep {
		args = append(args, ":(exclude)"+file)
	}
	if found, err := shell(t, repository, nil, "git", args...); err == nil {
		t.Errorf("the release still has %s:\n%s", version, found)
	}
	if _, err := shell(t, repository, nil, "git", append(args[:5:5], "aimodel-operator.v9.9.9", commit)...); err != nil {
		t.Errorf("this does not find what is there: %v", err)
	}
}

// checkRelease checks the files of a release, as somebody would who downloads them.
func checkRelease(t *testing.T, folder, base, publicKey string) {
	t.Helper()
	signers := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(signers, []byte("release "+read(t, publicKey)), 0o600); err != nil {
		t.Fatal(err)
	}
	verify := "ssh-keygen -Y verify -f " + signers + " -I release -n aimodel-operator-release -s checksums.txt.sig <"
	must(t, folder, "bash", "-c", verify+"checksums.txt")
	if out, err := shell(t, folder, nil, "bash", "-c", verify+"notes.md"); err == nil {
		t.Errorf("the signature fits other files too: %s", out)
	}
	contains(t, "what is checked", must(t, folder, "sha256sum", "--check", "checksums.txt"),
		"install.yaml: OK", "catalog.yaml: OK", "aimodel-operator-9.9.9.tgz: OK", "images.txt: OK", "notes.md: OK", ".spdx.json: OK",
		pluginArchive+": OK", "aimodel.yaml: OK")

	images := read(t, folder, "images.txt")
	_, digest, _ := strings.Cut(strings.Split(images, "\n")[0], "@")
	contains(t, "install.yaml", read(t, folder, "install.yaml"), "image: "+base+"@"+digest+"\n")
	var sbom struct {
		Packages []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(read(t, folder, "manager.linux-"+runtime.GOARCH+".spdx.json")), &sbom); err != nil || len(sbom.Packages) < 20 {
		t.Errorf("the SBOM has %d packages: %v", len(sbom.Packages), err)
	}
	if notes := read(t, folder, "notes.md"); !strings.HasPrefix(notes, "### ") || strings.Contains(notes, "\n## ") {
		t.Errorf("notes are not those of this release:\n%s", notes)
	}
	if found, err := filepath.Glob(filepath.Join(folder, "images/*/oci-layout")); err != nil || len(found) == 0 {
		t.Errorf("there is no OCI layout in images/: %v", err)
	}
}

// pluginURL is where the files of the release are said to be, and pluginArchive that of them which this machine can run.
const (
	pluginURL     = "https://downloads.example.com/v9.9.9"
	pluginArchive = "kubectl-aimodel_9.9.9_linux_" + runtime.GOARCH + ".tar.gz"
)

// checkPlugin checks what Krew installs of a release: the manifest names the archives of all platforms that were built, with the
// checksums they have, and the program in the archive is that of the release.
func checkPlugin(t *testing.T, folder string) {
	t.Helper()
	sum := sha256.Sum256([]byte(read(t, folder, pluginArchive)))
	contains(t, "the Krew manifest", read(t, folder, "aimodel.yaml"), "version: v9.9.9\n",
		"sha256: "+hex.EncodeToString(sum[:])+"\n", "uri: "+pluginURL+"/"+pluginArchive+"\n")
	unpacked := t.TempDir()
	must(t, folder, "tar", "-xzf", pluginArchive, "-C", unpacked)
	contains(t, "the plugin's version", must(t, unpacked, "./kubectl-aimodel", "version", "--client"), "9.9.9")
}

// startRegistry starts Docker's registry and returns its address; nothing where it is not installed.
func startRegistry(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		return ""
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	file := filepath.Join(folder, "config.yaml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s/data}}\nhttp: {addr: %s}\n", folder, address)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), program, "serve", file)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // the context of the test has ended it by then
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		if response, err := http.Get("http://" + address + "/v2/"); err == nil {
			if err := response.Body.Close(); err != nil {
				t.Fatal(err)
			}
			return address
		}
		select {
		case <-ctx.Done():
			t.Fatal("docker-registry does not answer")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	var body json.RawMessage
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return string(body)
}
