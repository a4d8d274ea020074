package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// tree is what one layer holds: absolute path in the image to content.
type tree map[string]content

type content struct {
	data       []byte
	executable bool
}

// addFiles copies a file, or all files below a folder. Links are followed, and what is no file is refused.
func (t tree) addFiles(from, to string) error {
	found := false
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	err = filepath.WalkDir(from, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, file)
		if err != nil {
			return err
		}
		target := path.Join(to, filepath.ToSlash(name))
		if info.IsDir() {
			if entry.Type()&fs.ModeSymlink == 0 {
				return nil
			}
			found = true
			return t.addFiles(file, target)
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		found = true
		t[target] = content{data: data}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("there is no file in %s", from)
	}
	return err
}

// layer packs the tree. Order, owners, modes and times depend on nothing but the tree, so equal trees give equal digests.
func (t tree) layer() (v1.Layer, error) {
	var archive bytes.Buffer
	if err := t.write(&archive, true); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.DefaultCompression),
		tarball.WithCompressedCaching,
	)
}

// write packs the tree, with or without entries for the folders.
func (t tree) write(out io.Writer, withFolders bool) error {
	folders := map[string]bool{}
	var names []string
	for name := range t {
		names = append(names, name)
		for folder := path.Dir(name); folder != "/"; folder = path.Dir(folder) {
			folders[folder] = true
		}
	}
	for folder := range folders {
		if _, file := t[folder]; file {
			return fmt.Errorf("%s is a file and a folder", folder)
		}
		if withFolders {
			names = append(names, folder)
		}
	}
	slices.Sort(names) // a folder comes before what it holds

	archive := tar.NewWriter(out)
	for _, name := range names {
		header := &tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o644, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		file := t[name]
		switch {
		case folders[name]:
			header.Name += "/"
			header.Mode = 0o755
			header.Typeflag = tar.TypeDir
		case file.executable:
			header.Mode = 0o755
		}
		header.Size = int64(len(file.data))
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(file.data); err != nil {
			return err
		}
	}
	return archive.Close()
}
