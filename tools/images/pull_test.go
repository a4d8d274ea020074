package main

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func pullIndex(t *testing.T, reference string) v1.ImageIndex {
	t.Helper()
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(parsed)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func pull(t *testing.T, reference string) v1.Image {
	t.Helper()
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(parsed, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// unpack reads all files of an image, by name. Folders have none of data.
func unpack(t *testing.T, image v1.Image) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	eachFile(t, image, func(header *tar.Header, data []byte) {
		if header.Uid != 0 || header.Gid != 0 || header.Mode&0o022 != 0 {
			t.Errorf("%s: owner %d:%d, mode %o", header.Name, header.Uid, header.Gid, header.Mode)
		}
		files[header.Name] = data
	})
	return files
}

// eachFile reads an image from its first file to its last.
func eachFile(t *testing.T, image v1.Image, use func(header *tar.Header, data []byte)) {
	t.Helper()
	stream := mutate.Extract(image)
	defer stream.Close() //nolint:errcheck // it was only read
	archive := tar.NewReader(stream)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		use(header, data)
	}
}

func extract(t *testing.T, image v1.Image) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(unpack(t, image)))
}

// runIn takes a program out of an image and asks for its version.
func runIn(t *testing.T, image v1.Image, file string) string {
	t.Helper()
	data, found := unpack(t, image)[file]
	if !found {
		t.Fatalf("there is no %s in the image", file)
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
