// Package image makes a container image from one static binary, as an archive that container runtimes import. It needs no
// container engine and no base image, and the same input gives the same bytes.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Spec describes an image.
type Spec struct {
	// Ref is the image's name and tag, as pods write it.
	Ref string
	// Binary is the program, which becomes the entrypoint.
	Binary string
	// User is who runs it: a number, or two with a colon.
	User string
	// Port is written into the image for its readers; 0 for none.
	Port int
}

var architectures = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// Write writes the archive in the format of `docker save`.
func Write(w io.Writer, spec Spec) error {
	ref, err := Normalize(spec.Ref)
	if err != nil {
		return err
	}
	architecture, err := inspect(spec.Binary)
	if err != nil {
		return err
	}
	layer, err := layer(spec.Binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(layer)
	config, err := json.Marshal(configuration(spec, architecture, "sha256:"+hex.EncodeToString(sum[:])))
	if err != nil {
		return fmt.Errorf("encode the image's configuration: %w", err)
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{ref}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return fmt.Errorf("encode the manifest: %w", err)
	}
	archive := tar.NewWriter(w)
	for _, file := range []struct {
		name string
		data []byte
	}{{"manifest.json", manifest}, {"config.json", config}, {"layer.tar", layer}} {
		if err := addFile(archive, file.name, 0o644, file.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

func configuration(spec Spec, architecture, layerID string) map[string]any {
	run := map[string]any{
		"User":       spec.User,
		"Entrypoint": []string{"/" + filepath.Base(spec.Binary)},
		"Env":        []string{"PATH=/", "HOME=/tmp"},
		"WorkingDir": "/",
	}
	if spec.Port != 0 {
		run["ExposedPorts"] = map[string]any{fmt.Sprintf("%d/tcp", spec.Port): map[string]any{}}
	}
	return map[string]any{
		"architecture": architecture,
		"os":           "linux",
		"config":       run,
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{layerID}},
	}
}

// layer is a root filesystem with the program and a /tmp that everyone may write.
func layer(binary string) ([]byte, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("read the program: %w", err)
	}
	var buffer bytes.Buffer
	archive := tar.NewWriter(&buffer)
	header := &tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777, ModTime: time.Unix(0, 0)}
	if err := archive.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("write the layer: %w", err)
	}
	if err := addFile(archive, filepath.Base(binary), 0o755, data); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, fmt.Errorf("write the layer: %w", err)
	}
	return buffer.Bytes(), nil
}

func addFile(archive *tar.Writer, name string, mode int64, data []byte) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data)), ModTime: time.Unix(0, 0)}
	if err := archive.WriteHeader(header); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := archive.Write(data); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// inspect refuses what could not run alone in an image, and returns the architecture.
func inspect(binary string) (string, error) {
	file, err := elf.Open(binary)
	if err != nil {
		var format *elf.FormatError
		if errors.As(err, &format) || errors.Is(err, io.EOF) {
			return "", fmt.Errorf("%s is not a Linux program", binary)
		}
		return "", fmt.Errorf("open the program: %w", err)
	}
	defer func() { _ = file.Close() }()
	for _, program := range file.Progs {
		if program.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s is linked dynamically and would find no libraries: build it with CGO_ENABLED=0", binary)
		}
	}
	architecture, ok := architectures[file.Machine]
	if !ok {
		return "", fmt.Errorf("%s is for %s; known are amd64 and arm64", binary, file.Machine)
	}
	return architecture, nil
}

var reference = regexp.MustCompile(`^[a-z0-9]+([._:/-]+[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$`)

// Normalize completes a reference as container runtimes do: app becomes docker.io/library/app:latest.
func Normalize(ref string) (string, error) {
	if !reference.MatchString(ref) {
		return "", fmt.Errorf("%q is not an image name: NAME:TAG, the name in lower case", ref)
	}
	first, _, slash := strings.Cut(ref, "/")
	switch {
	case !slash:
		ref = "docker.io/library/" + ref
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		ref = "docker.io/" + ref
	}
	if !strings.Contains(ref[strings.LastIndex(ref, "/"):], ":") {
		ref += ":latest"
	}
	return ref, nil
}
