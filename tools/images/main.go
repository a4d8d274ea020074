// Command images builds the project's container images from Go programs and files, without a container engine, and its Helm
// chart's package, and pushes them. It writes OCI layouts: one index an image, with a manifest for each platform and an
// SPDX document beside each.
//
// The same sources, version, revision and time give the same digests on every machine. It must not read the clock, the
// network (but for Go modules) or anything outside the repository while it builds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

const usage = `images builds and pushes the container images of the project.

  images build [flags] [NAME...]   write OCI layouts, all of them or those named
  images push [flags] [NAME...]    push what was built
  images list [flags] [NAME...]    print the references; -names only the names, -digests with the digests of what was built
  images digest [flags] NAME       print the digest of what was built
  images chart [flags]             write the Helm chart's package
  images push-chart [flags]        push that package
  images certificates              print the public certificate authorities, as PEM

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	root, config, out      string
	base, version          string
	revision, source, time string
	platforms, chart       string
	names, digests         bool
}

func (s *settings) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.root, "root", ".", "the root `folder` of the repository")
	flags.StringVar(&s.config, "config", "tools/images/images.yaml", "the `file` that lists the images, relative to the root")
	flags.StringVar(&s.out, "out", "dist/images", "the `folder` of the OCI layouts")
	flags.StringVar(&s.base, "base", "example.com/aimodel-operator", "what all names of images begin with")
	flags.StringVar(&s.version, "version", "0.0.0-dev", "the `version`, which is also the tag")
	flags.StringVar(&s.revision, "revision", "unknown", "the `commit` that is built")
	flags.StringVar(&s.source, "source", "", "the `URL` of the sources")
	flags.StringVar(&s.time, "time", "0", "when it was created, in `seconds` since 1970 (SOURCE_DATE_EPOCH)")
	flags.BoolVar(&s.names, "names", false, "list only names")
	flags.BoolVar(&s.digests, "digests", false, "list digests too")
	flags.StringVar(&s.chart, "chart", "charts/aimodel-operator", "the `folder` of the Helm chart, relative to the root")
	flags.StringVar(&s.platforms, "platforms", "linux/amd64,linux/arm64", "comma-separated `platforms`")
	return flags
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var s settings
	flags := s.flags()
	command := ""
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	if err := flags.Parse(args); err != nil && !errors.Is(err, flag.ErrHelp) {
		return err
	}
	switch command {
	case "certificates":
		return writeCertificates(out)
	case "chart":
		return packageChart(&s, out)
	case "push-chart":
		return pushChart(ctx, &s, out)
	}

	cfg, err := readConfig(s.root, s.config)
	if err != nil {
		return err
	}
	images, err := cfg.named(flags.Args())
	if err != nil {
		return err
	}
	switch command {
	case "build":
		return build(ctx, &s, cfg, images, out)
	case "push":
		return push(ctx, &s, images, out)
	case "list":
		return list(&s, images, out)
	case "digest":
		for i := range images {
			digest, err := builtDigest(&s, &images[i])
			if err != nil {
				return err
			}
			fmt.Fprintln(out, digest)
		}
		return nil
	default:
		var text strings.Builder
		flags.SetOutput(&text)
		flags.PrintDefaults()
		return fmt.Errorf("there is no command %q\n\n%s%s", command, usage, text.String())
	}
}

// created is the time that stands in what is built.
func (s *settings) created() (time.Time, error) {
	seconds, err := strconv.ParseInt(s.time, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("-time %q: %w", s.time, err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// reference is the name under which an image is pushed.
func (s *settings) reference(i *image) string { return s.base + i.Suffix + ":" + s.version }

func list(s *settings, images []image, out io.Writer) error {
	for i := range images {
		switch {
		case s.names:
			fmt.Fprintln(out, images[i].Name)
		case s.digests:
			digest, err := builtDigest(s, &images[i])
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s@%s\n", s.reference(&images[i]), digest)
		default:
			fmt.Fprintln(out, s.reference(&images[i]))
		}
	}
	return nil
}

// builtDigest is the digest of the index that was built last.
func builtDigest(s *settings, i *image) (v1.Hash, error) {
	stored, err := layout.ImageIndexFromPath(filepath.Join(s.out, i.Name))
	if err != nil {
		return v1.Hash{}, fmt.Errorf("image %q was not built: %w", i.Name, err)
	}
	manifest, err := stored.IndexManifest()
	if err != nil {
		return v1.Hash{}, err
	}
	for _, entry := range manifest.Manifests {
		if entry.MediaType.IsIndex() {
			return entry.Digest, nil
		}
	}
	return v1.Hash{}, fmt.Errorf("there is no image in %s", filepath.Join(s.out, i.Name))
}
