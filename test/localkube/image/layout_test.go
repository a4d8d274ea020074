package image

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// layoutOf writes the folder of an image layout with that index.
func layoutOf(t *testing.T, index string) string {
	t.Helper()
	folder := t.TempDir()
	for name, data := range map[string]string{"oci-layout": `{"imageLayoutVersion": "1.0.0"}`, "index.json": index, "blobs/sha256/abc": "blob"} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestALayoutIsPackedWithTheNameThatIsGiven(t *testing.T) {
	folder := layoutOf(t, `{"schemaVersion": 2, "manifests": [
		{"digest": "sha256:b", "artifactType": "application/spdx+json"},
		{"digest": "sha256:a", "annotations": {"org.opencontainers.image.ref.name": "0.1.0"}}]}`)
	var archive bytes.Buffer
	if err := WriteLayout(&archive, "example.com/server:dev", folder); err != nil {
		t.Fatal(err)
	}
	found := files(t, archive.Bytes())
	want := `{"schemaVersion":2,"manifests":[{"annotations":{"io.containerd.image.name":"example.com/server:dev"},"digest":"sha256:a"}]}`
	if got := string(found["index.json"]); got != want {
		t.Errorf("index.json is %s, want %s", got, want)
	}
	if string(found["blobs/sha256/abc"]) != "blob" || found["oci-layout"] == nil {
		t.Errorf("it lacks a file: %v", found)
	}
}

func TestWhatIsNoLayoutIsRefused(t *testing.T) {
	for name, folder := range map[string]string{
		"an empty folder":  t.TempDir(),
		"an empty index":   layoutOf(t, `{"schemaVersion": 2}`),
		"only a statement": layoutOf(t, `{"manifests": [{"digest": "sha256:b", "artifactType": "application/spdx+json"}]}`),
	} {
		if err := WriteLayout(&bytes.Buffer{}, "server:dev", folder); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
