package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPushPullAndRun(t *testing.T) {
	address := startRegistry(t)
	root := repository(t)
	base := address + "/team/hello"
	if _, err := images(t, "build", root, "-base", base); err != nil {
		t.Fatal(err)
	}
	pushed, err := images(t, "push", root, "-base", base)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(pushed)
	if len(lines) != 2 || !strings.HasPrefix(lines[0], base+":1.2.3@sha256:") || !strings.HasPrefix(lines[1], base+"-papers:1.2.3@sha256:") {
		t.Fatalf("push prints %q", pushed)
	}

	index := pullIndex(t, base+":1.2.3")
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(lines[0], digest.String()) {
		t.Errorf("the registry has %s, push printed %s", digest, lines[0])
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, entry := range manifest.Manifests {
		platforms = append(platforms, entry.Platform.String())
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("platforms = %v, want %v", platforms, want)
	}

	image := pull(t, base+":1.2.3")
	checkConfiguration(t, image, []string{"/bin/hello"})
	if got := runIn(t, image, "bin/hello"); got != "1.2.3 abc\n" {
		t.Errorf("the program says %q, want its version and commit", got)
	}
	checkDocument(t, base, image)

	papers := extract(t, pull(t, base+"-papers:1.2.3"))
	if want := []string{"a", "a/deep", "a/deep/two.yaml", "a/one.yaml", "b", "b/annotations.yaml"}; !slices.Equal(papers, want) {
		t.Errorf("files = %v, want %v", papers, want)
	}
	config, err := pull(t, base+"-papers:1.2.3").ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Config.Labels["example.com/channel"]; got != "stable" {
		t.Errorf("labels = %v, want those of annotations.yaml too", config.Config.Labels)
	}
}

// checkConfiguration checks what a container of the image starts with, and what the image says about itself.

func TestPushUsesTheCredentialsOfDocker(t *testing.T) {
	const password = "only-in-the-configuration"
	address := startGuard(t, startRegistry(t), "robot", password)
	root := repository(t)
	base := address + "/hello"
	if _, err := images(t, "build", root, "-base", base, "papers"); err != nil {
		t.Fatal(err)
	}

	t.Setenv("DOCKER_CONFIG", t.TempDir())
	if _, err := images(t, "push", root, "-base", base, "papers"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a push without credentials: %v, want 401", err)
	}
	configuration := `{"auths": {"` + address + `": {"username": "robot", "password": "` + password + `"}}}`
	write(t, filepath.Join(os.Getenv("DOCKER_CONFIG"), "config.json"), configuration)
	out, err := images(t, "push", root, "-base", base, "papers")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, password) {
		t.Errorf("push prints the password: %s", out)
	}
}

func TestPushOfAnotherVersionIsRefused(t *testing.T) {
	root := repository(t)
	if _, err := images(t, "build", root, "papers"); err != nil {
		t.Fatal(err)
	}
	_, err := images(t, "push", root, "-version", "1.2.4", "-base", "127.0.0.1:1/hello", "papers")
	if err == nil || !strings.Contains(err.Error(), "what was built is version 1.2.3") {
		t.Errorf("error = %v", err)
	}
}

// TestTheImagesOfTheProject makes the real images for this machine, from two copies of the repository, and runs what a registry
// gives back.
