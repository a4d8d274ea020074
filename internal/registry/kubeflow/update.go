package kubeflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

const (
	// markServings lists the external IDs of the inference services that say where the version is served, with commas. An ID is
	// added before its inference service is created, and goes after that is undeployed, so none is forgotten.
	markServings = registry.MarkPrefix + "servings"
	markRevision = registry.MarkPrefix + "revision"
	markURL      = registry.MarkPrefix + "url"
	markReady    = registry.MarkPrefix + "ready"
)

// wanted are all properties of the operator that a version shall have.
func wanted(r registry.Registration, created bool, servings []string) map[string]string {
	tags := r.Stored(created)
	if r.SourceRevision != "" {
		tags[markRevision] = r.SourceRevision
	}
	if len(servings) > 0 {
		tags[markServings] = strings.Join(servings, ",")
	}
	return tags
}

// servingsOf returns the external IDs of a version's inference services.
func servingsOf(version *resource) []string {
	list := version.Properties.tags()[markServings]
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// servingID is the external ID of the inference service of a serving.
func servingID(r registry.Registration, s registry.Serving) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{r.Key, s.Kind, s.Namespace, s.Name}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// update brings a version and what belongs to it up to date.
func (b *Backend) update(ctx context.Context, r registry.Registration, version *resource, created bool) error {
	want := map[string]registry.Serving{}
	for _, s := range r.Servings {
		want[servingID(r, s)] = s
	}
	wantIDs := slices.Sorted(maps.Keys(want))
	all := slices.Concat(wantIDs, servingsOf(version))
	slices.Sort(all)
	all = slices.Compact(all)
	if err := b.describe(ctx, r, version, created, all); err != nil {
		return err
	}
	if created {
		if err := b.artifact(ctx, r, version); err != nil {
			return err
		}
	}
	for _, id := range wantIDs {
		if err := b.deploy(ctx, r, version, id, want[id]); err != nil {
			return err
		}
	}
	old := slices.DeleteFunc(all, func(id string) bool { _, still := want[id]; return still })
	if len(old) == 0 {
		return nil
	}
	if err := b.undeploy(ctx, old); err != nil {
		return err
	}
	return b.describe(ctx, r, version, created, wantIDs)
}

// describe makes the version itself as it shall be, and writes nothing if it is.
func (b *Backend) describe(ctx context.Context, r registry.Registration, version *resource, created bool, servings []string) error {
	set, remove := registry.Changes(version.Properties.tags(), wanted(r, created, servings))
	body := resource{State: stateLive, Properties: version.Properties.with(set, remove...)}
	same := len(set) == 0 && len(remove) == 0 && version.State == stateLive
	// What was adopted goes on describing itself.
	said := ""
	if version.Description != nil {
		said = *version.Description
	}
	if created && said != r.Description {
		description := r.Description
		body.Description, same = &description, false
	}
	if same {
		return nil
	}
	if err := b.patchVersion(ctx, version, body); err != nil {
		return err
	}
	version.State, version.Properties = stateLive, body.Properties
	if body.Description != nil {
		version.Description = body.Description
	}
	return nil
}

// artifact says where the weights are.
func (b *Backend) artifact(ctx context.Context, r registry.Registration, version *resource) error {
	if r.SourceURI == "" {
		return nil
	}
	const kind = "model-artifact"
	found, err := b.find(ctx, "look for the artifact", "model_artifact", url.Values{"externalId": {r.Key}})
	if err != nil {
		return err
	}
	body := resource{ArtifactType: kind, URI: r.SourceURI, FormatName: r.Format, State: stateLive, Properties: properties{}}
	switch {
	case found == nil:
		body.Name, body.ExternalID = r.Key, r.Key
		_, err = b.create(ctx, "create the artifact", "model_versions/"+url.PathEscape(version.ID)+"/artifacts", body)
		if errors.Is(err, errExists) {
			return registry.Errorf(registry.InProgress, "somebody else creates the artifact")
		}
		return err
	case found.URI == r.SourceURI && found.FormatName == r.Format:
		return nil
	}
	body.Properties = found.Properties
	return b.patch(ctx, "change the artifact", "model_artifacts/"+url.PathEscape(found.ID), body)
}

// deploy says that a version is served somewhere.
func (b *Backend) deploy(ctx context.Context, r registry.Registration, version *resource, id string, s registry.Serving) error {
	found, err := b.find(ctx, "look for the inference service", "inference_service", url.Values{"externalId": {id}})
	if err != nil {
		return err
	}
	tags := map[string]string{
		registry.MarkKey: r.Key, registry.MarkCluster: r.Owner.Cluster, registry.MarkNamespace: s.Namespace, registry.MarkName: s.Name,
		markURL: s.URL, markReady: strconv.FormatBool(s.Ready),
	}
	if found == nil {
		return b.newService(ctx, r, version, resource{
			Name: strings.ToLower(s.Kind) + "/" + s.Namespace + "/" + s.Name + "/" + id, ExternalID: id, Runtime: s.Runtime,
			DesiredState: deployed, Properties: properties{}.with(tags),
		})
	}
	set, remove := registry.Changes(found.Properties.tags(), tags)
	if len(set) == 0 && len(remove) == 0 && found.DesiredState == deployed && found.Runtime == s.Runtime {
		return nil
	}
	return b.patch(ctx, "change the inference service", "inference_services/"+url.PathEscape(found.ID), resource{
		DesiredState: deployed, Runtime: s.Runtime, Properties: found.Properties.with(set, remove...),
	})
}

// newService creates an inference service, and the serving environment of the cluster if there is none.
func (b *Backend) newService(ctx context.Context, r registry.Registration, version *resource, service resource) error {
	byName := url.Values{"name": {"aimodel-operator/" + r.Owner.Cluster}}
	environment, err := b.find(ctx, "look for the serving environment", "serving_environment", byName)
	if err == nil && environment == nil {
		_, err = b.create(ctx, "create the serving environment", "serving_environments", resource{Name: byName.Get("name")})
		if err == nil || errors.Is(err, errExists) {
			environment, err = b.find(ctx, "look for the serving environment", "serving_environment", byName)
		}
	}
	switch {
	case err != nil:
		return err
	case environment == nil:
		return registry.Errorf(registry.InProgress, "the serving environment cannot be found yet")
	}
	service.Environment, service.ModelID, service.VersionID = environment.ID, version.ModelID, version.ID
	_, err = b.create(ctx, "create the inference service", "inference_services", service)
	if errors.Is(err, errExists) {
		return registry.Errorf(registry.InProgress, "somebody else creates the inference service")
	}
	return err
}

// undeploy says that a version is not served any more where it was.
func (b *Backend) undeploy(ctx context.Context, ids []string) error {
	for _, id := range ids {
		found, err := b.find(ctx, "look for the inference service", "inference_service", url.Values{"externalId": {id}})
		if err != nil {
			return err
		}
		if found == nil || found.DesiredState == undeployed {
			continue
		}
		err = b.patch(ctx, "undeploy the inference service", "inference_services/"+url.PathEscape(found.ID), resource{
			DesiredState: undeployed, Runtime: found.Runtime, Properties: found.Properties,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
