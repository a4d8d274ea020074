package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const annotation = "org.opencontainers.image."

// build writes an OCI layout for each image, and beside it the SPDX document of each platform.
func build(ctx context.Context, s *settings, cfg *config, images []image, out io.Writer) error {
	created, err := s.created()
	if err != nil {
		return err
	}
	b := builder{settings: s, config: cfg, created: created}
	for _, text := range strings.Split(s.platforms, ",") {
		platform, err := v1.ParsePlatform(strings.TrimSpace(text))
		if err != nil || platform.OS == "" || platform.Architecture == "" {
			return fmt.Errorf("-platforms: %q is not of the form linux/amd64", text)
		}
		b.platforms = append(b.platforms, *platform)
	}
	for i := range images {
		digest, err := b.image(ctx, &images[i])
		if err != nil {
			return fmt.Errorf("build image %q: %w", images[i].Name, err)
		}
		fmt.Fprintf(out, "%s@%s\n", s.reference(&images[i]), digest)
	}
	return nil
}

type builder struct {
	*settings
	config    *config
	created   time.Time
	platforms []v1.Platform
}

// image writes the layout of one image and returns the digest of its index.
func (b *builder) image(ctx context.Context, i *image) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var sboms []v1.Image
	folder := filepath.Join(b.out, i.Name)
	if err := errors.Join(removeOutput(folder), os.MkdirAll(b.out, 0o755)); err != nil {
		return v1.Hash{}, err
	}
	for _, platform := range b.platforms {
		built, document, err := b.platform(ctx, i, platform)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("%s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: built, Descriptor: v1.Descriptor{Platform: &platform}})
		sbom, err := attached(document, built, b.created)
		if err != nil {
			return v1.Hash{}, err
		}
		sboms = append(sboms, sbom)
		name := fmt.Sprintf("%s.%s-%s.spdx.json", folder, platform.OS, platform.Architecture)
		if err := os.WriteFile(name, document, 0o644); err != nil {
			return v1.Hash{}, err
		}
	}
	index = mutate.Annotations(index, b.annotations(i)).(v1.ImageIndex)

	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	tag := layout.WithAnnotations(map[string]string{annotation + "ref.name": b.version})
	if err := written.AppendIndex(index, tag); err != nil {
		return v1.Hash{}, err
	}
	for _, sbom := range sboms {
		if err := written.AppendImage(sbom); err != nil {
			return v1.Hash{}, err
		}
	}
	return index.Digest()
}

// removeOutput deletes what an earlier build wrote, and nothing that is not a layout.
func removeOutput(folder string) error {
	if _, err := os.Stat(folder); os.IsNotExist(err) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(folder, "oci-layout")); err != nil {
		return fmt.Errorf("%s is in the way, and is not an OCI layout", folder)
	}
	return os.RemoveAll(folder)
}

// platform builds the image of one platform and its SPDX document.
func (b *builder) platform(ctx context.Context, i *image, platform v1.Platform) (v1.Image, []byte, error) {
	document := newDocument(b, i, platform)
	var layers []mutate.Addendum
	add := func(what string, t tree) error {
		layer, err := t.layer()
		if err != nil {
			return err
		}
		document.addFiles(t)
		layers = append(layers, mutate.Addendum{
			Layer:     layer,
			History:   v1.History{Created: v1.Time{Time: b.created}, CreatedBy: what},
			MediaType: types.OCILayer,
		})
		return nil
	}
	if i.Certificates {
		var pem bytes.Buffer
		if err := writeCertificates(&pem); err != nil {
			return nil, nil, err
		}
		if err := document.addCertificates(); err != nil {
			return nil, nil, err
		}
		if err := add("certificate authorities", tree{certificatesPath: {data: pem.Bytes()}}); err != nil {
			return nil, nil, err
		}
	}
	if len(i.Files) > 0 {
		t := tree{}
		for _, files := range i.Files {
			if err := t.addFiles(filepath.Join(b.root, files.From), files.To); err != nil {
				return nil, nil, err
			}
		}
		if err := add("files", t); err != nil {
			return nil, nil, err
		}
	}
	for _, p := range i.Programs {
		binary, err := b.compile(ctx, p.Package, platform)
		if err != nil {
			return nil, nil, err
		}
		if err := document.addProgram(p, binary); err != nil {
			return nil, nil, err
		}
		if err := add("go build "+p.Package, tree{p.To: {data: binary, executable: true}}); err != nil {
			return nil, nil, err
		}
	}
	built, err := b.assemble(i, platform, layers)
	if err != nil {
		return nil, nil, err
	}
	data, err := document.encode(layers)
	return built, data, err
}

// assemble puts layers and configuration together.
func (b *builder) assemble(i *image, platform v1.Platform, layers []mutate.Addendum) (v1.Image, error) {
	labels := b.annotations(i)
	maps.Copy(labels, i.Labels)
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	configured, err := mutate.ConfigFile(base, &v1.ConfigFile{
		Created:      v1.Time{Time: b.created},
		OS:           platform.OS,
		Architecture: platform.Architecture,
		Variant:      platform.Variant,
		RootFS:       v1.RootFS{Type: "layers"},
		Config:       v1.Config{User: b.config.User, Entrypoint: i.Entrypoint, Labels: labels, WorkingDir: "/"},
	})
	if err != nil {
		return nil, err
	}
	filled, err := mutate.Append(configured, layers...)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(filled, b.annotations(i)).(v1.Image), nil
}

// annotations tell what an image is, by the names that the OCI image specification gives them.
func (b *builder) annotations(i *image) map[string]string {
	all := map[string]string{
		annotation + "title":       i.Title,
		annotation + "description": i.Description,
		annotation + "version":     b.version,
		annotation + "revision":    b.revision,
		annotation + "licenses":    b.config.Licenses,
		annotation + "created":     b.created.Format(time.RFC3339),
	}
	if b.source != "" {
		all[annotation+"source"] = b.source
	}
	return all
}

// compile builds a Go program of the repository for a platform. Neither the path of the repository nor the state of git
// gets into it.
func (b *builder) compile(ctx context.Context, pkg string, platform v1.Platform) ([]byte, error) {
	folder, err := os.MkdirTemp("", "images-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // nothing depends on it
	output := filepath.Join(folder, "program")
	command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath",
		"-ldflags", "-s -w -X main.version="+b.version+" -X main.commit="+b.revision, "-o", output, pkg)
	command.Dir = b.root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off",
		"GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	if text, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
	}
	return os.ReadFile(output)
}

// attached makes an image manifest that refers to another one, which is how registries keep what belongs to an image.
func attached(document []byte, subject v1.Image, created time.Time) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbomType)
	filled, err := mutate.Append(base, mutate.Addendum{Layer: documentLayer(document), MediaType: sbomType})
	if err != nil {
		return nil, err
	}
	annotated := mutate.Annotations(filled, map[string]string{annotation + "created": created.Format(time.RFC3339)}).(v1.Image)
	descriptor, err := partial.Descriptor(subject)
	if err != nil {
		return nil, err
	}
	return mutate.Subject(annotated, *descriptor).(v1.Image), nil
}
