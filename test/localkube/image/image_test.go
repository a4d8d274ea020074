package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// program builds a small static Linux program.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server")
	cmd := exec.Command("go", "build", "-o", path, "../pause")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return path
}

func files(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	reader := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if found[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWrite(t *testing.T) {
	spec := Spec{Ref: "server:dev", Binary: program(t), User: "65532", Port: 8080}
	var first, second bytes.Buffer
	if err := Write(&first, spec); err != nil {
		t.Fatal(err)
	}
	if err := Write(&second, spec); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same input gave two different archives")
	}
	archive := files(t, first.Bytes())
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(archive["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	if got := manifest[0].RepoTags[0]; got != "docker.io/library/server:dev" {
		t.Errorf("got reference %s", got)
	}
	var config struct {
		Architecture, OS string
		Config           struct {
			User         string
			Entrypoint   []string
			ExposedPorts map[string]any
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(archive[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	if config.Architecture != runtime.GOARCH || config.OS != "linux" || config.Config.User != "65532" || config.Config.Entrypoint[0] != "/server" {
		t.Errorf("got configuration %+v", config)
	}
	if _, ok := config.Config.ExposedPorts["8080/tcp"]; !ok {
		t.Errorf("got ports %v, want 8080/tcp", config.Config.ExposedPorts)
	}
	layer := archive[manifest[0].Layers[0]]
	if sum := sha256.Sum256(layer); config.RootFS.DiffIDs[0] != "sha256:"+hex.EncodeToString(sum[:]) {
		t.Error("the layer's digest is not that of the layer")
	}
	content := files(t, layer)
	if _, ok := content["tmp/"]; !ok || len(content["server"]) == 0 {
		t.Errorf("the layer lacks tmp/ or server")
	}
}

func TestWriteRefuses(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		spec Spec
		want string
	}{
		"a script":         {Spec{Ref: "a:b", Binary: script}, "not a Linux program"},
		"no such file":     {Spec{Ref: "a:b", Binary: script + "x"}, "no such file"},
		"a bad reference":  {Spec{Ref: "A b", Binary: script}, "not an image name"},
		"an absent name":   {Spec{Ref: ":b", Binary: script}, "not an image name"},
		"a digest instead": {Spec{Ref: "a@sha256:00", Binary: script}, "not an image name"},
	} {
		if err := Write(io.Discard, test.spec); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one about %q", name, err, test.want)
		}
	}
}

func TestNormalize(t *testing.T) {
	for ref, want := range map[string]string{
		"app":                       "docker.io/library/app:latest",
		"app:V1":                    "docker.io/library/app:V1",
		"team/app:1":                "docker.io/team/app:1",
		"localhost/app":             "localhost/app:latest",
		"example.com/app:1":         "example.com/app:1",
		"example.com:5000/team/app": "example.com:5000/team/app:latest",
	} {
		if got, err := Normalize(ref); err != nil || got != want {
			t.Errorf("%s: got %s and error %v, want %s", ref, got, err, want)
		}
	}
}
