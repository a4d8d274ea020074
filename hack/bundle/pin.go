package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// askTimeout is how long a registry may take.
const askTimeout = 30 * time.Second

const digestsHeader = "# The digests of the images that runtimes use by default: an image with its tag, and the digest. " +
	"`make pin-images` adds what is\n" +
	"# missing. An entry stays as it is for as long as a preset names the image: another digest restarts the pods that use it.\n"

// digests are the digests of images, by name with tag.
type digests map[string]string

// readDigests reads the file of digests. One that is not there has none.
func readDigests(file string) (digests, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return digests{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the digests: %w", err)
	}
	known := digests{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("%s: %q is not an image and a digest", file, strings.TrimSpace(line))
		}
		reference, err := registry.ParseReference(fields[0])
		if err == nil {
			reference.Reference = fields[1]
			err = reference.ValidateReferenceAsDigest()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		known[fields[0]] = fields[1]
	}
	return known, nil
}

// apply names an image by its digest, where that is known. The tag goes: not every tool takes both.
func (d digests) apply(image string) string {
	reference, err := registry.ParseReference(image)
	if err != nil || d[image] == "" {
		return image
	}
	reference.Reference = d[image]
	return reference.String()
}

// pin adds to the file of digests those of images that have none there yet.
func pin(args []string) error {
	flags := flag.NewFlagSet("bundle pin", flag.ContinueOnError)
	presets := flags.String("presets", presetsFolder, "`folder` of the runtime presets, for their images")
	file := flags.String("digests", digestsFile, "`file` with the digests of these images")
	mirror := flags.String("mirror", "", "`registry` to ask in place of those that the images are in")
	if err := flags.Parse(args); err != nil {
		return err
	}
	images, err := runtimeImages(*presets)
	if err != nil {
		return err
	}
	known, err := readDigests(*file)
	if err != nil {
		return err
	}
	kept := digests{}
	for _, image := range slices.Sorted(maps.Values(images)) {
		if pinned(image) {
			continue
		}
		if kept[image] = known[image]; kept[image] != "" {
			continue
		}
		if kept[image], err = ask(image, *mirror); err != nil {
			return err
		}
	}
	text := digestsHeader
	for _, image := range slices.Sorted(maps.Keys(kept)) {
		text += image + " " + kept[image] + "\n"
	}
	return os.WriteFile(*file, []byte(text), 0o644)
}

// ask gets the digest of an image from a registry, with what `docker login` left, if anything.
func ask(image, mirror string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	reference, err := registry.ParseReference(image)
	if err != nil {
		return "", fmt.Errorf("the digest of %s: %w", image, err)
	}
	if mirror != "" {
		reference.Registry = mirror
	}
	logins, err := credentials.NewStoreFromDocker(credentials.StoreOptions{})
	if err != nil {
		return "", fmt.Errorf("read the logins of docker: %w", err)
	}
	// Without the client's retries: whoever waits can try again.
	client := &auth.Client{Credential: credentials.Credential(logins)}
	repository := &remote.Repository{Client: client, Reference: reference, PlainHTTP: isLoopback(reference.Registry)}
	found, err := repository.Resolve(ctx, reference.ReferenceOrDefault())
	if err != nil {
		return "", fmt.Errorf("the digest of %s: %w", image, err)
	}
	return found.Digest.String(), nil
}

// isLoopback says whether a registry is on this machine, where it may speak without TLS.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
