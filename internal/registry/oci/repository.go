package oci

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/wire"
)

// maxTags is how many tags of a repository are looked at before it is taken for granted that another one has the same manifest.
const maxTags = 256

// repository is one repository of the registry. Its errors are of the package registry, and hold no secret.
type repository struct {
	remote *remote.Repository
	conn   *wire.Conn
}

// read returns what a tag leads to, or nil if the registry says that it has no such tag.
func (r repository) read(ctx context.Context, tag string) (*pushed, error) {
	desc, body, err := r.remote.FetchReference(ctx, tag)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(r.conn, "read the manifest", err)
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(body, maxManifest+1))
	if err != nil {
		return nil, explain(r.conn, "read the manifest", err)
	}
	if len(raw) > maxManifest || digest.FromBytes(raw) != desc.Digest {
		return nil, registry.Errorf(registry.Unreachable, "read the manifest: what came is not what the registry announced")
	}
	return read(desc, raw), nil
}

// push makes a tag lead to a document, and returns the document's digest.
func (r repository) push(ctx context.Context, tag string, d document) (digest.Digest, error) {
	config := d.config
	if d.configOf.Digest == emptyJSON.Digest {
		config = emptyJSON.Data
	}
	for _, part := range []struct {
		desc    ocispec.Descriptor
		content []byte
	}{{d.configOf, config}, {emptyJSON, emptyJSON.Data}} {
		if part.content == nil { // the configuration of a manifest that is there
			continue
		}
		there, err := r.remote.Blobs().Exists(ctx, part.desc)
		if err != nil {
			return "", explain(r.conn, "look for the blob", err)
		}
		if there {
			continue
		}
		if err := r.remote.Blobs().Push(ctx, part.desc, bytes.NewReader(part.content)); err != nil {
			return "", explain(r.conn, "push the blob", err)
		}
	}
	raw := d.bytes()
	desc := blob(ocispec.MediaTypeImageManifest, raw)
	if err := r.remote.PushReference(ctx, desc, bytes.NewReader(raw), tag); err != nil {
		return "", explain(r.conn, "push the manifest", err)
	}
	return desc.Digest, nil
}

// remove deletes a manifest of the operator's. All tags that lead to it go with it, so the caller makes sure that there are none
// of others. That it is not there is fine.
func (r repository) remove(ctx context.Context, of digest.Digest) error {
	err := r.remote.Delete(ctx, ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: of})
	if err == nil || errors.Is(err, errdef.ErrNotFound) {
		return nil
	}
	return explain(r.conn, "delete the manifest", err)
}

var errEnough = errors.New("enough")

// shared says whether another tag than this one leads to a manifest.
func (r repository) shared(ctx context.Context, tag string, of digest.Digest) (bool, error) {
	var others []string
	err := r.remote.Tags(ctx, "", func(tags []string) error {
		for _, other := range tags {
			if other != tag {
				others = append(others, other)
			}
		}
		if len(others) > maxTags {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return true, nil
	case errors.Is(err, errdef.ErrNotFound):
		return false, nil
	case err != nil:
		return false, explain(r.conn, "list the tags", err)
	}
	for _, other := range others {
		there, err := r.read(ctx, other)
		if err != nil {
			return false, err
		}
		if there != nil && there.desc.Digest == of {
			return true, nil
		}
	}
	return false, nil
}

// explain makes an error of what the client library returned.
func explain(conn *wire.Conn, what string, err error) *registry.Error {
	var classified *registry.Error
	var refused *errcode.ErrorResponse
	switch {
	case errors.As(err, &classified):
		return &registry.Error{Reason: classified.Reason, RetryAfter: classified.RetryAfter, Err: errors.New(conn.Redact(classified.Error()))}
	case errors.As(err, &refused) && refused.URL != nil && !isAPI(refused.URL.Path):
		return registry.FromStatus(what+": "+getToken, refused.StatusCode, http.Header{}, conn.Redact(refused.Errors.Error()))
	case errors.As(err, &refused):
		said := refused.Errors.Error()
		if lacking := needs(refused.Errors); lacking != "" {
			said += ": the credentials have to allow " + lacking
		}
		return registry.FromStatus(what, refused.StatusCode, http.Header{}, conn.Redact(said))
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return registry.Errorf(registry.Unauthorized, "%s: the registry asks for a user name and a password", what)
	}
	failure := registry.FromTransport(err)
	return &registry.Error{Reason: failure.Reason, Err: errors.New(conn.Redact(registry.OneLine(what + ": " + failure.Error())))}
}
