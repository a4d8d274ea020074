package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push sends what was built to the registry that the names of the images begin with. Credentials are those that
// `docker login` and the like keep. A registry on this machine is spoken to without TLS, any other with it.
func push(ctx context.Context, s *settings, images []image, out io.Writer) error {
	for i := range images {
		digest, err := pushImage(ctx, s, &images[i])
		if err != nil {
			return fmt.Errorf("push %s: %w", s.reference(&images[i]), err)
		}
		fmt.Fprintf(out, "%s@%s\n", s.reference(&images[i]), digest)
	}
	return nil
}

// pushImage pushes the index under its tag, and then the documents that refer to its manifests.
func pushImage(ctx context.Context, s *settings, i *image) (v1.Hash, error) {
	none := v1.Hash{}
	tag, err := name.NewTag(s.reference(i), name.StrictValidation)
	if err != nil {
		return none, err
	}
	stored, err := layout.ImageIndexFromPath(filepath.Join(s.out, i.Name))
	if err != nil {
		return none, fmt.Errorf("it was not built: %w", err)
	}
	manifest, err := stored.IndexManifest()
	if err != nil {
		return none, err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	pushed := none
	for _, entry := range manifest.Manifests {
		if entry.MediaType.IsIndex() {
			if built := entry.Annotations[annotation+"ref.name"]; built != s.version {
				return none, fmt.Errorf("what was built is version %s", built)
			}
			index, err := stored.ImageIndex(entry.Digest)
			if err != nil {
				return none, err
			}
			if err := remote.WriteIndex(tag, index, options...); err != nil {
				return none, err
			}
			pushed = entry.Digest
			continue
		}
		document, err := stored.Image(entry.Digest)
		if err != nil {
			return none, err
		}
		if err := remote.Write(tag.Digest(entry.Digest.String()), document, options...); err != nil {
			return none, fmt.Errorf("attach %s: %w", entry.ArtifactType, err)
		}
	}
	if pushed == none {
		return none, fmt.Errorf("there is no image in %s", filepath.Join(s.out, i.Name))
	}
	return pushed, nil
}
