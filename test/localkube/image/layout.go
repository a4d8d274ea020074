package image

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteLayout writes a folder in the OCI image layout as an archive that container runtimes import under that name. What the
// folder itself says about names is left out.
func WriteLayout(w io.Writer, ref, folder string) error {
	ref, err := Normalize(ref)
	if err != nil {
		return err
	}
	index, err := named(ref, filepath.Join(folder, "index.json"))
	if err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if name == "index.json" {
			return addFile(archive, name, 0o644, index)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return addFile(archive, filepath.ToSlash(name), 0o644, data)
	})
	if err != nil {
		return fmt.Errorf("pack %s: %w", folder, err)
	}
	return archive.Close()
}

// named is the index of a layout with nothing but its image, which gets a name.
func named(ref, file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the image layout: %w", err)
	}
	var index struct {
		SchemaVersion int              `json:"schemaVersion"`
		MediaType     string           `json:"mediaType,omitempty"`
		Manifests     []map[string]any `json:"manifests"`
	}
	if err := json.Unmarshal(data, &index); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	for _, manifest := range index.Manifests {
		if manifest["artifactType"] != nil {
			continue // says something about the image
		}
		manifest["annotations"] = map[string]string{"io.containerd.image.name": ref}
		index.Manifests = []map[string]any{manifest}
		return json.Marshal(index)
	}
	return nil, errors.New(file + " names no image")
}
