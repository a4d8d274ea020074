// Package bundle gathers what somebody else needs to help with a model: objects, pods, events, logs and versions, in one archive.
// It reads no Secret, and takes out of everything else what looks like one.
package bundle

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"time"
)

// folder is what everything in the archive is below.
const folder = "aimodel-support"

// archive writes files, each as soon as it is known.
type archive struct {
	now  time.Time
	gzip *gzip.Writer
	tar  *tar.Writer
}

func newArchive(out io.Writer, now time.Time) *archive {
	compressed := gzip.NewWriter(out)
	return &archive{now: now, gzip: compressed, tar: tar.NewWriter(compressed)}
}

var unsafeName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// add writes a text under a path, of which each part is made safe: the names of objects come from elsewhere.
func (a *archive) add(text string, parts ...string) error {
	for i, part := range parts {
		parts[i] = strings.TrimLeft(unsafeName.ReplaceAllString(part, "_"), ".")
	}
	name := path.Join(append([]string{folder}, parts...)...)
	header := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), ModTime: a.now, Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(header); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if _, err := io.WriteString(a.tar, text); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (a *archive) close() error {
	if err := a.tar.Close(); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	if err := a.gzip.Close(); err != nil {
		return fmt.Errorf("end the archive: %w", err)
	}
	return nil
}
