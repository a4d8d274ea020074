// Package mlflow registers models in MLflow's model registry: each as a version of a registered model, with its owner in the
// version's tags. It must not move aliases or stages, which belong to people, nor take an answer for MLflow's that is not.
package mlflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/wire"
)

const (
	// markEntry is the hash of name and version: what is searched for, whoever owns it.
	markEntry = registry.MarkPrefix + "entry"
	// markSource and markRevision say where the weights are; MLflow's own source cannot be changed, or be every URI.
	markSource   = registry.MarkPrefix + "source"
	markRevision = registry.MarkPrefix + "revision"
	markFormat   = registry.MarkPrefix + "format"
	// markServing begins the tags that say where the version is served.
	markServing = registry.MarkPrefix + "serving."
)

// Backend registers in one MLflow server, and one workspace of it if that is given.
type Backend struct {
	client
}

var _ registry.Backend = (*Backend)(nil)

// New returns a backend for the server of the configuration, which is not contacted.
func New(config registry.Config) (*Backend, error) {
	conn, err := wire.New(config)
	if err != nil {
		return nil, err
	}
	return &Backend{client{conn: conn, workspace: config.Workspace}}, nil
}

// Check searches for one registered model.
func (b *Backend) Check(ctx context.Context) error {
	var page struct{}
	err := b.call(ctx, "check", http.MethodGet, "registered-models/search", url.Values{"max_results": {"1"}}, nil, &page)
	if err != nil {
		return err
	}
	return b.needWorkspaces(ctx)
}

// namePattern is stricter than MLflow: a name is part of a filter, and of a page's address.
var namePattern = regexp.MustCompile(`^[\w.\-][\w.\- ]{0,254}$`)

// turn waits for the turn of a registered model, in which versions come and go.
func (b *Backend) turn(ctx context.Context, r registry.Registration) (func(), error) {
	if !namePattern.MatchString(r.Name) {
		return nil, registry.Errorf(registry.Invalid,
			"%q is no name of a registered model: letters, digits, dots, dashes and underscores", r.Name)
	}
	return wire.Turn(ctx, b.conn.Base().Host+"/"+b.workspace+"/"+r.Name)
}

// Register finds the version by what it is an entry for, or creates it.
func (b *Backend) Register(ctx context.Context, r registry.Registration) (registry.Entry, error) {
	done, err := b.turn(ctx, r)
	if err != nil {
		return registry.Entry{}, err
	}
	defer done()
	found, err := b.find(ctx, r)
	if err != nil {
		return registry.Entry{}, err
	}
	if len(found) == 0 {
		if found, err = b.byHand(ctx, r); err != nil {
			return registry.Entry{}, err
		}
	}
	if len(found) == 0 {
		if found, err = b.create(ctx, r); err != nil {
			return registry.Entry{}, err
		}
	}
	return b.keep(ctx, r, found)
}

// find returns the versions that are entries for the name and version of a registration, the oldest first.
func (b *Backend) find(ctx context.Context, r registry.Registration) ([]version, error) {
	return b.search(ctx, "tags.`"+markEntry+"` = '"+entryOf(r)+"'")
}

// entryOf is a hash, which needs no escaping in a filter.
func entryOf(r registry.Registration) string {
	sum := sha256.Sum256([]byte(r.Name + "\x00" + r.Version))
	return hex.EncodeToString(sum[:16])
}

var number = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)

// byHand returns the version that a person made, and MLflow itself calls as the registration does.
func (b *Backend) byHand(ctx context.Context, r registry.Registration) ([]version, error) {
	if !number.MatchString(r.Version) {
		return nil, nil
	}
	v, err := b.get(ctx, r.Name, r.Version)
	switch {
	case errors.Is(err, errAbsent), isForbidden(err): // which of them, create finds out
		return nil, nil
	case err != nil:
		return nil, err
	case v.tags()[markEntry] != "": // MLflow's number only happens to be the same
		return nil, nil
	}
	return []version{v}, nil
}

// create creates a version, and the registered model if there is none, and returns what there is then.
func (b *Backend) create(ctx context.Context, r registry.Registration) ([]version, error) {
	if err := b.needWorkspaces(ctx); err != nil {
		return nil, err
	}
	enclosing, err := b.model(ctx, r.Name)
	if errors.Is(err, errAbsent) || isForbidden(err) {
		enclosing, err = b.claim(ctx, r.Name)
	}
	if err != nil {
		return nil, err
	}
	if r.Adoption == registry.AdoptNever && mapOf(enclosing.Tags)[registry.MarkOrigin] != registry.OriginCreated {
		return nil, registry.Errorf(registry.AdoptionRequired,
			"the registered model %q was not made by the operator; an adoption policy would add a version to it", r.Name)
	}
	tags := wanted(r, true)
	v := version{Name: r.Name, Source: r.SourceURI, Description: r.Description}
	if v.Source == "" {
		v.Source = placeholder(r)
	}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		v.Tags = append(v.Tags, tag{name, tags[name]})
	}
	err = b.createVersion(ctx, v)
	if registry.AsError(err) != nil && registry.AsError(err).Reason == registry.Invalid && v.Source != placeholder(r) {
		// MLflow refuses addresses of web servers, whole buckets and others, by rules that change with its version.
		v.Source = placeholder(r)
		err = b.createVersion(ctx, v)
	}
	if err != nil {
		return nil, err
	}
	// Somebody else may have done the same in this moment.
	return b.find(ctx, r)
}

// claim creates a registered model, or returns the one that is there. Where MLflow hides from a user what is there, this alone tells
// it from what is not there.
func (b *Backend) claim(ctx context.Context, name string) (model, error) {
	err := b.createModel(ctx, name, tag{registry.MarkOrigin, registry.OriginCreated})
	if err != nil && !errors.Is(err, errExists) {
		return model{}, err
	}
	there, err := b.model(ctx, name)
	if isForbidden(err) {
		err = registry.Errorf(registry.Unauthorized, "there is a registered model %q, and MLflow gives this user no permission on it", name)
	}
	return there, err
}

// keep brings the version that the registration may have up to date, and takes away what was created twice. If several created
// one at the same time, the first one stays, for all of them.
func (b *Backend) keep(ctx context.Context, r registry.Registration, found []version) (registry.Entry, error) {
	if len(found) == 0 {
		return registry.Entry{}, registry.Errorf(registry.InProgress, "what was created cannot be found yet")
	}
	first := found[0]
	for _, other := range found[1:] {
		if marked := markedFor(r, other); marked.Owner.Same(r.Owner) && marked.Created {
			if err := gone(b.deleteVersion(ctx, other)); err != nil {
				return registry.Entry{}, err
			}
		}
	}
	created, err := r.Claim(markedFor(r, first))
	if err != nil {
		return registry.Entry{}, err
	}
	if err := b.change(ctx, first, wanted(r, created)); err != nil {
		return registry.Entry{}, err
	}
	// What was adopted goes on describing itself.
	if created && first.Description != r.Description {
		if err := b.describe(ctx, first, r.Description); err != nil {
			return registry.Entry{}, err
		}
	}
	return registry.Entry{
		Name: first.Name, ID: first.Name + "/" + first.Version, Version: first.Version, Created: created, Adopted: !created,
		URL: b.page(first),
	}, nil
}

// page is the address of the page about a version.
func (b *Backend) page(v version) string {
	page := b.conn.Base().JoinPath().String() + "/#/models/" + url.PathEscape(v.Name) + "/versions/" + v.Version
	if b.workspace != "" {
		page += "?workspace=" + url.QueryEscape(b.workspace)
	}
	return page
}

// wanted are all tags of the operator that a version shall have.
func wanted(r registry.Registration, created bool) map[string]string {
	tags := r.Stored(created)
	tags[markEntry] = entryOf(r)
	for name, value := range map[string]string{markSource: r.SourceURI, markRevision: r.SourceRevision, markFormat: r.Format} {
		if value != "" {
			tags[name] = value
		}
	}
	for _, s := range r.Servings {
		told, err := json.Marshal(struct {
			URL     string `json:"url,omitempty"`
			Runtime string `json:"runtime,omitempty"`
			Ready   bool   `json:"ready"`
		}{s.URL, s.Runtime, s.Ready})
		if err != nil {
			panic(err) // strings always can be written
		}
		tags[markServing+strings.ToLower(s.Kind)+"."+s.Namespace+"."+s.Name] = string(told)
	}
	return tags
}

// placeholder is the source of a version whose own is none that MLflow takes; a tag says the true one.
func placeholder(r registry.Registration) string {
	return "aimodel://" + url.PathEscape(r.Owner.Namespace) + "/" + url.PathEscape(r.Owner.Name)
}

// gone takes MLflow's word that something is not there for success.
func gone(err error) error {
	if errors.Is(err, errAbsent) {
		return nil
	}
	return err
}

// Unregister ends the registration in every version that carries it.
func (b *Backend) Unregister(ctx context.Context, r registry.Registration, policy registry.DeletionPolicy) error {
	done, err := b.turn(ctx, r)
	if err != nil {
		return err
	}
	defer done()
	found, err := b.find(ctx, r)
	if err != nil {
		return err
	}
	name := r.Name
	for _, v := range found {
		if err := b.finishRelease(ctx, v); err != nil {
			return err
		}
		if ours, err := r.MayRemove(markedFor(r, v)); err != nil {
			return err
		} else if !ours {
			continue
		}
		name = v.Name // somebody may have renamed it
		if err := b.end(ctx, r, v, policy); err != nil {
			return err
		}
	}
	if policy != registry.Delete && len(found) > 0 {
		return nil
	}
	// Also where no version was found: the last try may have ended right after it deleted that, or the search left out what this user
	// has no permission for.
	return b.clear(ctx, name)
}

// end ends the registration in a version, which is read again first.
func (b *Backend) end(ctx context.Context, r registry.Registration, v version, policy registry.DeletionPolicy) error {
	fresh, err := b.get(ctx, v.Name, v.Version)
	if err != nil {
		return gone(err)
	}
	marked := markedFor(r, fresh)
	if ours, err := r.MayRemove(marked); err != nil || !ours {
		return err
	}
	switch {
	case policy == registry.Delete && marked.Created:
		return gone(b.deleteVersion(ctx, fresh))
	case policy == registry.Archive:
		return b.archive(ctx, fresh)
	}
	// A version that the operator made keeps its name, by which it can be adopted.
	return b.release(ctx, fresh, marked.Created)
}

// clear deletes a registered model that the operator made, and that nothing is left in. It fails if one is there whose versions this
// user may not see.
func (b *Backend) clear(ctx context.Context, name string) error {
	enclosing, err := b.model(ctx, name)
	if isForbidden(err) {
		enclosing, err = b.claim(ctx, name)
	}
	switch {
	case errors.Is(err, errAbsent):
		return nil
	case err != nil:
		return err
	case mapOf(enclosing.Tags)[registry.MarkOrigin] != registry.OriginCreated:
		return nil
	}
	if used, err := b.hasVersions(ctx, name); err != nil || used {
		return err
	}
	return gone(b.deleteModel(ctx, name))
}
