// Package kubeflow registers models in the Kubeflow Model Registry: each as a version of a registered model, with its owner in the
// version's custom properties, an artifact that says where the weights are, and an inference service for each place where it is
// served. That registry deletes nothing, so this package archives. It must not take a 404 by ID for "gone".
package kubeflow

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/wire"
)

// Backend registers in one registry.
type Backend struct {
	client
}

var _ registry.Backend = (*Backend)(nil)

// New returns a backend for the registry of the configuration, which is not contacted.
func New(config registry.Config) (*Backend, error) {
	conn, err := wire.New(config)
	if err != nil {
		return nil, err
	}
	return &Backend{client{conn}}, nil
}

// Check lists one registered model.
func (b *Backend) Check(ctx context.Context) error {
	answer, said, err := b.send(ctx, "check", http.MethodGet, "registered_models", url.Values{"pageSize": {"1"}}, nil)
	switch {
	case err != nil:
		return err
	case !answer.OK():
		return answer.Error(said.Message)
	}
	var page struct{}
	return answer.Decode(&page)
}

func place(b *Backend, r registry.Registration) string { return b.conn.Base().Host + "/" + r.Name }

// Register finds the version by its external ID or its name, or creates it.
func (b *Backend) Register(ctx context.Context, r registry.Registration) (registry.Entry, error) {
	done, err := wire.Turn(ctx, place(b, r))
	if err != nil {
		return registry.Entry{}, err
	}
	defer done()
	version, err := b.lookUp(ctx, r)
	if err == nil && version == nil {
		version, err = b.add(ctx, r)
	}
	if err != nil {
		return registry.Entry{}, err
	}
	created, err := r.Claim(version.marked())
	if err != nil {
		return registry.Entry{}, err
	}
	if err := b.enliven(ctx, version); err != nil {
		return registry.Entry{}, err
	}
	if err := b.update(ctx, r, version, created); err != nil {
		return registry.Entry{}, err
	}
	return registry.Entry{
		Name: r.Name, ID: version.ID, Version: version.Name, Created: created, Adopted: !created,
		URL: b.conn.Base().JoinPath("api/model_registry/v1alpha3/model_versions", version.ID).String(),
	}, nil
}

// lookUp returns the version of a registration, or nil.
func (b *Backend) lookUp(ctx context.Context, r registry.Registration) (*resource, error) {
	version, err := b.find(ctx, "look for the version", "model_version", url.Values{"externalId": {r.Key}})
	if err != nil || version != nil && version.Name == r.Version {
		return version, err
	}
	model, err := b.find(ctx, "look for the registered model", "registered_model", url.Values{"name": {r.Name}})
	if err != nil || model == nil {
		return nil, err
	}
	return b.find(ctx, "look for the version", "model_version", url.Values{"name": {r.Version}, "parentResourceId": {model.ID}})
}

// add creates the version, and the registered model if there is none. Where somebody else was first, it returns theirs.
func (b *Backend) add(ctx context.Context, r registry.Registration) (*resource, error) {
	byName := url.Values{"name": {r.Name}}
	model, err := b.find(ctx, "look for the registered model", "registered_model", byName)
	if err == nil && model == nil {
		_, err = b.create(ctx, "create the registered model", "registered_models", resource{
			Name: r.Name, State: stateLive, Properties: properties{}.with(map[string]string{registry.MarkOrigin: registry.OriginCreated}),
		})
		if err == nil || errors.Is(err, errExists) {
			model, err = b.find(ctx, "look for the registered model", "registered_model", byName)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case model == nil:
		return nil, registry.Errorf(registry.InProgress, "the registered model cannot be found yet")
	case r.Adoption == registry.AdoptNever && model.Properties.tags()[registry.MarkOrigin] != registry.OriginCreated:
		return nil, registry.Errorf(registry.AdoptionRequired,
			"the registered model %q was not made by the operator; an adoption policy would add a version to it", r.Name)
	}
	description := r.Description
	version, err := b.create(ctx, "create the version", "model_versions", resource{
		Name: r.Version, ExternalID: r.Key, ModelID: model.ID, State: stateLive, Description: &description,
		Properties: properties{}.with(wanted(r, true, nil)),
	})
	if !errors.Is(err, errExists) {
		return version, err
	}
	if version, again := b.lookUp(ctx, r); again != nil || version != nil {
		return version, again
	}
	return nil, err
}

// enliven un-archives the registered model of a version, if the operator made it.
func (b *Backend) enliven(ctx context.Context, version *resource) error {
	if version.State != stateArchived {
		return nil
	}
	return b.setModelState(ctx, version, stateLive)
}

// setModelState archives or un-archives the registered model of a version, if the operator made it.
func (b *Backend) setModelState(ctx context.Context, version *resource, state string) error {
	path := "registered_models/" + url.PathEscape(version.ModelID)
	answer, said, err := b.send(ctx, "read the registered model", http.MethodGet, path, nil, nil)
	switch {
	case err != nil:
		return err
	case !answer.OK():
		return answer.Error(said.Message) // a 404 by ID may mean anything
	}
	var model resource
	if err := answer.Decode(&model); err != nil {
		return err
	}
	if model.State == state || model.Properties.tags()[registry.MarkOrigin] != registry.OriginCreated {
		return nil
	}
	return b.patch(ctx, "change the registered model", path, resource{State: state, Properties: model.Properties})
}

// Unregister archives the version, or takes the operator's properties from it.
func (b *Backend) Unregister(ctx context.Context, r registry.Registration, policy registry.DeletionPolicy) error {
	done, err := wire.Turn(ctx, place(b, r))
	if err != nil {
		return err
	}
	defer done()
	version, err := b.lookUp(ctx, r)
	if err != nil || version == nil {
		return err
	}
	marked := version.marked()
	if ours, err := r.MayRemove(marked); err != nil || !ours {
		return err
	}
	if err := b.undeploy(ctx, servingsOf(version)); err != nil {
		return err
	}
	tags := version.Properties.tags()
	if policy == registry.Orphan || policy == registry.Delete && !marked.Created {
		return b.patchVersion(ctx, version, resource{State: version.State, Properties: version.Properties.with(nil, registry.Ours(tags)...)})
	}
	if version.State != stateArchived || tags[markServings] != "" {
		body := resource{State: stateArchived, Properties: version.Properties.with(nil, markServings)}
		if err := b.patchVersion(ctx, version, body); err != nil {
			return err
		}
	}
	// Also where the version was archived already: the last try may have ended in between.
	if all, err := b.allArchived(ctx, version.ModelID); err != nil || !all {
		return err
	}
	return b.setModelState(ctx, version, stateArchived)
}

func (b *Backend) patchVersion(ctx context.Context, version *resource, body resource) error {
	return b.patch(ctx, "change the version", "model_versions/"+url.PathEscape(version.ID), body)
}
