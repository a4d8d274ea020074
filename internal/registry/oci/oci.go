// Package oci registers models in an OCI registry: as a manifest of the ModelPack specification that describes the model, names
// its owner in annotations, and says where the weights are. It must not copy weights, nor change what somebody else pushed.
package oci

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/opencontainers/go-digest"
	orasregistry "oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/wire"
)

// Backend registers in the repositories below one address.
type Backend struct {
	conn   *wire.Conn
	client *auth.Client
}

var _ registry.Backend = (*Backend)(nil)

// New returns a backend for the registry of the configuration, which is not contacted.
func New(config registry.Config) (*Backend, error) {
	conn, err := wire.New(config)
	if err != nil {
		return nil, err
	}
	client := *config.HTTPClient
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = classified{client.Transport}
	credential := auth.Credential{Username: config.Auth.Username, Password: config.Auth.Password}
	if config.Auth.Token != "" {
		credential = auth.Credential{AccessToken: config.Auth.Token}
	}
	return &Backend{conn: conn, client: &auth.Client{
		Client: &client, Cache: auth.NewCache(), Credential: auth.StaticCredential(conn.Base().Host, credential),
	}}, nil
}

// Check asks for the version of the registry's API.
func (b *Backend) Check(ctx context.Context) error {
	base := b.conn.Base()
	server, err := remote.NewRegistry(base.Host)
	if err != nil {
		return registry.Errorf(registry.Invalid, "the host of the registry is not valid")
	}
	server.PlainHTTP, server.Client = base.Scheme == "http", b.client
	if err := server.Ping(ctx); err != nil {
		return explain(b.conn, "check", err)
	}
	return nil
}

// Register pushes what the registration says, unless it is there.
func (b *Backend) Register(ctx context.Context, r registry.Registration) (registry.Entry, error) {
	target, done, err := b.target(ctx, r)
	if err != nil {
		return registry.Entry{}, err
	}
	defer done()
	found, err := target.read(ctx, target.tag)
	if err != nil {
		return registry.Entry{}, err
	}
	switch {
	case found == nil:
		return target.put(ctx, r, nil, describe(r))
	case !found.marked().Owned:
		return target.adopt(ctx, r, found)
	}
	created, err := r.Claim(found.marked())
	if err != nil {
		return registry.Entry{}, err
	}
	wanted := describe(r)
	if !created {
		// What was taken over goes on describing itself.
		wanted = found.changed(r.Stored(false), registry.Ours(found.annotations)...)
	}
	return target.put(ctx, r, found, wanted)
}

// Unregister deletes the manifest, or changes what its annotations say.
func (b *Backend) Unregister(ctx context.Context, r registry.Registration, policy registry.DeletionPolicy) error {
	target, done, err := b.target(ctx, r)
	if err != nil {
		return err
	}
	defer done()
	beside, err := target.beside().read(ctx, target.adoptionTag)
	if err != nil {
		return err
	}
	if err := target.beside().end(ctx, r, beside, policy); err != nil {
		return err
	}
	found, err := target.read(ctx, target.tag)
	if err != nil {
		return err
	}
	return target.end(ctx, r, found, policy)
}

// target is the tag of a registration.
type target struct {
	repository
	tag, adoptionTag string
	url              string
}

var namePattern = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)

// target makes the target of a registration, and waits for its turn: what a registry is sent last wins, and two objects of one
// cluster shall not overwrite each other. Two clusters still can, between a look and a push; the one that loses finds out when it
// looks again.
func (b *Backend) target(ctx context.Context, r registry.Registration) (target, func(), error) {
	base := b.conn.Base()
	path := strings.Trim(strings.Trim(base.Path, "/")+"/"+r.Name, "/")
	if !namePattern.MatchString(path) {
		return target{}, nil, registry.Errorf(registry.Invalid,
			"%q is no name of a repository: lower-case letters and digits, and single dots, dashes, underscores and slashes between them", path)
	}
	repo := &remote.Repository{
		Reference: orasregistry.Reference{Registry: base.Host, Repository: path},
		PlainHTTP: base.Scheme == "http", Client: b.client, MaxMetadataBytes: maxManifest,
	}
	if err := repo.Reference.Validate(); err != nil {
		return target{}, nil, registry.Errorf(registry.Invalid, "%q is no name of a repository", path)
	}
	// No manifest of the operator refers to another, so the client library has no list of these to keep.
	if err := repo.SetReferrersCapability(true); err != nil {
		return target{}, nil, registry.Errorf(registry.Invalid, "prepare the client: %w", err)
	}
	tag := tagOf(r.Version)
	done, err := wire.Turn(ctx, base.Host+"/"+path+":"+tag)
	if err != nil {
		return target{}, nil, err
	}
	return target{
		repository: repository{remote: repo, conn: b.conn}, tag: tag, adoptionTag: adoptionTag(tag),
		url: base.Scheme + "://" + base.Host + "/v2/" + path + "/manifests/" + tag,
	}, done, nil
}

// beside is the same target, with the tag that says who adopted what is at the first.
func (t target) beside() target {
	t.tag = t.adoptionTag
	return t
}

// adopt says beside a manifest of somebody else that it is adopted, if it may be.
func (t target) adopt(ctx context.Context, r registry.Registration, found *pushed) (registry.Entry, error) {
	beside, err := t.read(ctx, t.adoptionTag)
	if err != nil {
		return registry.Entry{}, err
	}
	if _, err := r.Claim(beside.marked()); err != nil {
		return registry.Entry{}, err
	}
	if _, err := t.beside().put(ctx, r, beside, adoption(r, t.tag)); err != nil {
		return registry.Entry{}, err
	}
	return t.entry(r, found.desc.Digest, false), nil
}

// put makes the tag lead to a document that takes the place of what is there, and looks whether it stayed so.
func (t target) put(ctx context.Context, r registry.Registration, found *pushed, wanted document) (registry.Entry, error) {
	created := wanted.annotations[registry.MarkOrigin] == registry.OriginCreated
	if found != nil {
		if replaced, ok := found.annotations[markReplaces]; ok {
			wanted = wanted.changed(map[string]string{markReplaces: replaced})
		}
		if digest.FromBytes(wanted.bytes()) == found.desc.Digest {
			return t.entry(r, found.desc.Digest, created), nil
		}
		if registry.ReadMarks(wanted.annotations).Owned {
			wanted = wanted.changed(map[string]string{markReplaces: found.desc.Digest.String()})
		}
	}
	sent, err := t.push(ctx, t.tag, wanted)
	if err != nil {
		return registry.Entry{}, err
	}
	stayed, err := t.read(ctx, t.tag)
	switch {
	case err != nil:
		return registry.Entry{}, err
	case stayed == nil:
		return registry.Entry{}, registry.Errorf(registry.InProgress, "what was pushed cannot be read yet")
	case stayed.desc.Digest != sent:
		// The other one pushed last, and won. What is left of ours is reached by no tag.
		return registry.Entry{}, errors.Join(registry.Errorf(registry.Conflict, "somebody else pushed %q of %q at the same time", t.tag, r.Name),
			t.remove(ctx, sent))
	}
	if err := t.clear(ctx, found); err != nil {
		return registry.Entry{}, err
	}
	return t.entry(r, sent, created), nil
}

// clear deletes what the tag led to before, and what that one had replaced, in case nobody came to it. A registry that deletes
// nothing keeps it.
func (t target) clear(ctx context.Context, before *pushed) error {
	if before == nil {
		return nil
	}
	for _, old := range []digest.Digest{digest.Digest(before.annotations[markReplaces]), before.desc.Digest} {
		if old.Validate() != nil {
			continue
		}
		shared, err := t.shared(ctx, t.tag, old)
		if err != nil {
			return err
		}
		if shared {
			continue
		}
		if err := t.remove(ctx, old); err != nil && registry.AsError(err).Reason != registry.DeleteUnsupported {
			return err
		}
	}
	return nil
}

// end ends a registration at the tag, if what is there is of the registration.
func (t target) end(ctx context.Context, r registry.Registration, found *pushed, policy registry.DeletionPolicy) error {
	marked := found.marked()
	ours, err := r.MayRemove(marked)
	if err != nil || !ours {
		return err
	}
	bare := found.artifactType == typeAdoption
	switch {
	case policy == registry.Archive && marked.Archived:
		return nil
	case policy == registry.Archive:
		_, err = t.put(ctx, r, found, found.changed(map[string]string{registry.MarkState: registry.StateArchived}))
		return err
	case bare || policy == registry.Delete && marked.Created:
		return t.delete(ctx, found)
	default:
		// The marks go, and with them the digest: what is left describes the model, and is nobody's.
		_, err = t.put(ctx, r, found, found.changed(nil, append(registry.Ours(found.annotations), markReplaces)...))
		return err
	}
}

// delete deletes what the tag leads to. A manifest that somebody gave another tag stays there.
func (t target) delete(ctx context.Context, found *pushed) error {
	before := digest.Digest(found.annotations[markReplaces])
	if before.Validate() == nil {
		shared, err := t.shared(ctx, t.tag, before)
		if err != nil {
			return err
		}
		if !shared {
			if err := t.remove(ctx, before); err != nil {
				return err
			}
		}
	}
	shared, err := t.shared(ctx, t.tag, found.desc.Digest)
	if err != nil {
		return err
	}
	if !shared {
		return t.remove(ctx, found.desc.Digest)
	}
	// A manifest of its own takes the tag along when it is deleted.
	end, err := t.push(ctx, t.tag, found.changed(map[string]string{registry.MarkState: "deleted"}))
	if err != nil {
		return err
	}
	return t.remove(ctx, end)
}

func (t target) entry(r registry.Registration, of digest.Digest, created bool) registry.Entry {
	return registry.Entry{Name: r.Name, ID: of.String(), Version: t.tag, URL: t.url, Created: created, Adopted: !created}
}
