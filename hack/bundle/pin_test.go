package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aimodel-operator/aimodel-operator/internal/environment"
)

func TestPinAsksOnlyForWhatIsNotKnown(t *testing.T) {
	one, two := "sha256:"+strings.Repeat("1", 64), "sha256:"+strings.Repeat("2", 64)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/v2/b/new/manifests/v2" {
			t.Errorf("asked for %s", r.URL)
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/vnd.oci.image.index.v1+json")
		w.Header().Set("Docker-Content-Digest", two)
		w.Header().Set("Content-Length", "10")
	}))
	defer server.Close()
	dir := t.TempDir()
	for name, image := range map[string]string{"known": "example.com/a/known:v1", "new": "example.com/b/new:v2", "by-digest": "example.com/c@" + one} {
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte("values: {image: \""+image+"\"}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "digests.txt")
	if err := os.WriteFile(file, []byte("example.com/a/known:v1 "+one+"\nexample.com/a/gone:v1 "+one+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-presets", dir, "-digests", file, "-mirror", strings.TrimPrefix(server.URL, "http://")}
	for range 2 { // the second time everything is known
		if err := pin(args); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(digestsHeader+"example.com/a/known:v1 "+one+"\nexample.com/b/new:v2 "+two+"\n", string(data)); diff != "" {
		t.Error(diff)
	}
	if asked.Load() != 1 {
		t.Errorf("the registry was asked %d times", asked.Load())
	}
	server.Close()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := pin(args); err == nil || !strings.Contains(err.Error(), "the digest of example.com/a/known:v1") {
		t.Errorf("a registry that is gone gives %v", err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("half a file is written: %v", err)
	}
}

// TestTheOperatorReadsWhatTheBundleSays keeps the names of the variables the same on both sides.
func TestTheOperatorReadsWhatTheBundleSays(t *testing.T) {
	images, err := runtimeImages("../../" + presetsFolder)
	if err != nil {
		t.Fatal(err)
	}
	spec := decode(t, "{install: {spec: {deployments: [{spec: {template: {spec: {containers: [{}]}}}}]}}}")
	if err := nameRuntimeImages(spec, images); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{}
	for _, variable := range list(list(at(list(at(spec, "install", "spec")["deployments"])[0], "spec", "template", "spec")["containers"])[0]["env"]) {
		name, _ := variable["name"].(string)
		variables[name], _ = variable["value"].(string)
	}
	found, err := environment.Of(variables)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(images, found.Site.RuntimeImages); diff != "" || len(images) == 0 {
		t.Errorf("images (-in the presets +in the operator):\n%s", diff)
	}
}
