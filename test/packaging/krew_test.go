package packaging

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// completion is what a user of Krew runs once: Krew puts only the plugin itself on the PATH. The page about the plugin has it too.
const completion = `install -m 755 "$(dirname "$(readlink -f "$(command -v kubectl-aimodel)")")/kubectl_complete-aimodel" ~/.krew/bin/`

// krewUser is somebody who has Krew, and whom no other network than this machine's answers.
type krewUser struct {
	t    *testing.T
	home string
	env  []string
}

func newKrewUser(t *testing.T, index string) *krewUser {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "krew")); err != nil {
		t.Skip("SKIPPED: bin/krew is not built: `make test-packaging` builds it")
	}
	home, programs := t.TempDir(), t.TempDir()
	// Of bin/ only what a user has: a plugin that was built there must not be taken for the installed one.
	links := map[string]string{"kubectl-krew": filepath.Join(bin, "krew"), "kubectl": filepath.Join(bin, "kubectl")}
	if _, err := os.Stat(links["kubectl"]); err != nil {
		if links["kubectl"], err = exec.LookPath("kubectl"); err != nil {
			t.Skip("SKIPPED: there is no kubectl: `make localkube` builds one")
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	const nobody = "http://127.0.0.1:1"
	return &krewUser{t, home, []string{"HOME=" + home, "KREW_ROOT=", "KUBECONFIG=" + filepath.Join(home, "none"),
		"PATH=" + strings.Join([]string{filepath.Join(home, ".krew/bin"), programs, "/usr/bin", "/bin"}, ":"),
		"KREW_NO_UPGRADE_CHECK=1", "KREW_DEFAULT_INDEX_URI=" + index, "GIT_ALLOW_PROTOCOL=file",
		"HTTP_PROXY=" + nobody, "HTTPS_PROXY=" + nobody, "NO_PROXY=127.0.0.1"}}
}

// runs has the user type a command, which has to succeed.
func (u *krewUser) runs(line string) string {
	u.t.Helper()
	out, err := shell(u.t, u.home, u.env, "bash", "-c", line)
	if err != nil {
		u.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return out
}

func (u *krewUser) has(t *testing.T, version string) {
	t.Helper()
	contains(t, "the plugin", u.runs("kubectl aimodel version --client"), "plugin   "+version+"\n")
	if where := u.runs("command -v kubectl-aimodel"); where != filepath.Join(u.home, ".krew/bin/kubectl-aimodel")+"\n" {
		t.Errorf("it is run from %s", where)
	}
}

// TestKrewInstallsThePlugin builds the archive of this platform and has Krew itself install it: from the files, as somebody would who
// was handed them, and from an index and an address, as everybody else.
func TestKrewInstallsThePlugin(t *testing.T) {
	index := t.TempDir()
	alone, user := newKrewUser(t, "file:///nowhere"), newKrewUser(t, "file://"+index)
	folder, _ := repository(t)
	plugin := filepath.Join(folder, "dist/plugin")
	downloads := httptest.NewServer(http.FileServer(http.Dir(plugin)))
	defer downloads.Close()
	if host, _, err := net.SplitHostPort(downloads.Listener.Addr().String()); err != nil || host != "127.0.0.1" {
		t.Fatalf("the server listens on %s: %v", host, err)
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	must(t, folder, "make", "plugin-dist", "PLUGIN_PLATFORMS="+platform, "PLUGIN_URL="+downloads.URL)
	version := must(t, folder, "make", "-s", "show-VERSION")
	manifest := filepath.Join(plugin, "aimodel.yaml")
	archive := filepath.Join(plugin, "kubectl-aimodel_"+version+"_"+strings.ReplaceAll(platform, "/", "_")+".tar.gz")

	contains(t, "what Krew says", alone.runs("kubectl krew install --manifest="+manifest+" --archive="+archive),
		"Installed plugin: aimodel", "render and convert")
	alone.has(t, version)

	must(t, index, "git", "init", "-q", "-b", "master")
	if err := os.Mkdir(filepath.Join(index, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	copyFile(t, manifest, filepath.Join(index, "plugins/aimodel.yaml"))
	for _, setting := range [][]string{{"user.name", "Tester"}, {"user.email", "tester@example.com"}, {"commit.gpgsign", "false"}} {
		must(t, index, "git", "config", setting[0], setting[1])
	}
	must(t, index, "git", "add", "--all")
	must(t, index, "git", "commit", "-q", "-m", "All")
	user.runs("kubectl krew update")
	contains(t, "the search", user.runs("kubectl krew search aimodel"), "Look after AI models served on GPUs", "no")
	user.runs("kubectl krew install aimodel")
	user.has(t, version)
	contains(t, "the list", user.runs("kubectl krew list"), "aimodel")

	// Krew links the plugin only; the line of the page brings what kubectl completes with.
	contains(t, "docs/kubectl-plugin.md", read(t, root, "docs/kubectl-plugin.md"), completion)
	user.runs(completion)
	contains(t, "what kubectl completes", user.runs("kubectl __complete aimodel wh"), "why\t", ":4\n")
	contains(t, "a format", user.runs("kubectl __complete aimodel status -o ''"), "wide\n", "yaml\n")

	user.runs("kubectl krew uninstall aimodel")
	if out, err := shell(t, user.home, user.env, "kubectl", "aimodel", "version", "--client"); err == nil {
		t.Errorf("it is still there: %s", out)
	}
	if left := user.runs("find ~/.krew/receipts ~/.krew/store -name 'aimodel.yaml' -o -name 'kubectl*'"); left != "" {
		t.Errorf("it left behind %s", left)
	}
}

func TestAnArchiveThatWasChangedIsRefused(t *testing.T) {
	user := newKrewUser(t, "file:///nowhere")
	folder, _ := repository(t)
	plugin := filepath.Join(folder, "dist/plugin", runtime.GOOS+"-"+runtime.GOARCH)
	if err := os.MkdirAll(plugin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(plugin, "kubectl-aimodel"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	must(t, folder, "go", "run", "./hack/krew", "-dir", "dist/plugin", "-version", "1.2.3", "-url", "https://example.com")
	archives, err := filepath.Glob(filepath.Join(folder, "dist/plugin/*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives = %q, %v", archives, err)
	}
	if err := os.WriteFile(archives[0], append([]byte(read(t, archives[0])), 0), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := shell(t, user.home, user.env, "kubectl", "krew", "install", "--manifest="+filepath.Join(folder, "dist/plugin/aimodel.yaml"), "--archive="+archives[0])
	if err == nil {
		t.Errorf("it is installed: %s", out)
	}
	contains(t, "the complaint", out, "checksum does not match")
}
