// Package bundle checks bundle/ with the tools that catalogs check it with, as processes. It needs no cluster. What it must
// not do is change anything in the repository.
package bundle

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tolerated are parts of the warnings that do not speak of a defect.
var tolerated = []string{
	// The rule is for events of events.k8s.io/v1; the validator takes any for v1beta1, which rules do not name.
	"Migrate the API(s) for events",
	// To look into images it needs docker and the network.
	"unable to inspect the image",
	"[\"error/error\"]",
	// It speaks of the validator, not of the bundle.
	"The \"operatorhub\" validator is deprecated",
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tool runs a program of bin/ in the root of the repository and gives what it prints to standard output.
func tool(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(filepath.Join(root(t), "bin", name), args...)
	cmd.Dir = root(t)
	out, err := cmd.Output()
	return string(out), err
}

func TestValidators(t *testing.T) {
	for _, suite := range []string{"suite=operatorframework", "name=good-practices", "name=multiarch", "name=operatorhub"} {
		t.Run(suite, func(t *testing.T) {
			out, err := tool(t, "operator-sdk", "bundle", "validate", "./bundle", "--select-optional", suite,
				"--optional-values=k8s-version=1.37", "-o", "json-alpha1")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var result struct {
				Passed  bool `json:"passed"`
				Outputs []struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(out), &result); err != nil {
				t.Fatalf("read %q: %v", out, err)
			}
			if !result.Passed {
				t.Error("the suite did not pass")
			}
			for _, told := range result.Outputs {
				if !isTolerated(told.Message) {
					t.Errorf("%s: %s", told.Type, told.Message)
				}
			}
		})
	}
}

func isTolerated(message string) bool {
	for _, part := range tolerated {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}

// TestAFaultyBundleIsRefused proves that the validators are really asked.
func TestAFaultyBundleIsRefused(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "bundle")
	if err := os.CopyFS(broken, os.DirFS(filepath.Join(root(t), "bundle"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(broken, "manifests", "ai.example.com_aimodels.yaml")); err != nil {
		t.Fatal(err)
	}
	if out, err := tool(t, "operator-sdk", "bundle", "validate", broken, "--select-optional", "suite=operatorframework", "-o", "json-alpha1"); err == nil {
		t.Errorf("a bundle without one of its definitions passes: %s", out)
	}
}

// TestScorecard runs the tests of scorecard that need no cluster, as processes in place of pods.
func TestScorecard(t *testing.T) {
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: the tests read /bundle, and no mount namespace can be made here: %v %s", err, out)
	}
	if err := os.Mkdir("/bundle", 0o755); err == nil {
		t.Cleanup(func() { _ = os.Remove("/bundle") })
	} else if !os.IsExist(err) {
		t.Skipf("SKIPPED: the tests read /bundle, and it cannot be made here: %v", err)
	}
	for _, name := range []string{"basic-check-spec", "olm-bundle-validation", "olm-crds-have-validation", "olm-crds-have-resources",
		"olm-spec-descriptors", "olm-status-descriptors"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("unshare", "-m", "sh", "-ec", `mount --bind "$0/bundle" /bundle; exec "$0/bin/scorecard-test" "$1"`, root(t), name)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var status struct {
				Results []struct {
					State               string
					Errors, Suggestions []string
				} `json:"results"`
			}
			if err := json.Unmarshal(out, &status); err != nil || len(status.Results) == 0 {
				t.Fatalf("no result in %s: %v", out, err)
			}
			for _, result := range status.Results {
				if result.State != "pass" {
					t.Errorf("state %q: %v; %v", result.State, result.Errors, result.Suggestions)
				}
			}
		})
	}
}

// TestTheCatalogOfTheBundle holds that the catalog offers the bundle in the channels that it names, to those who have any older
// version.
func TestTheCatalogOfTheBundle(t *testing.T) {
	read := func(file string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(root(t), file))
		if err != nil {
			t.Fatalf("%v: `make bundle-validate` makes it", err)
		}
		return string(data)
	}
	catalog := read("dist/catalog/aimodel-operator/catalog.yaml")
	csv := read("bundle/manifests/aimodel-operator.clusterserviceversion.yaml")
	_, version, _ := strings.Cut(csv, "\n  version: ")
	version, _, _ = strings.Cut(version, "\n")
	_, channels, _ := strings.Cut(read("bundle/metadata/annotations.yaml"), "bundle.channels.v1: ")
	channels, _, _ = strings.Cut(channels, "\n")
	for _, channel := range strings.Split(channels, ",") {
		want := "schema: olm.channel\npackage: aimodel-operator\nname: " + channel + "\nentries:\n" +
			"- name: aimodel-operator.v" + version + "\n  skipRange: \">=0.0.0-0 <" + version + "\"\n"
		if !strings.Contains(catalog, want) {
			t.Errorf("the catalog lacks\n%s", want)
		}
	}
	if strings.Contains(catalog, "$") {
		t.Error("something of the template was not filled in")
	}
}
