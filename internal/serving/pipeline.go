package serving

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/facts"
	"github.com/aimodel-operator/aimodel-operator/internal/manifest"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/render"
	"github.com/aimodel-operator/aimodel-operator/internal/values"
)

// renderedSize is how many objects' renderings are remembered, at about 5 KB each. An object beyond that is rendered
// again on its next reconcile, which costs a millisecond.
const renderedSize = 10_000

// Pipeline renders, applies and observes. It is safe for concurrent use.
type Pipeline struct {
	renderer *render.Renderer
	applier  *apply.Applier
	reader   client.Client
	rendered *lru.Cache
	facts    *facts.Gatherer
}

// renderedKey is what a rendering is remembered under.
type renderedKey struct {
	kind string
	types.NamespacedName
}

// rendering is the result of rendering one object's Inputs.
type rendering struct {
	uid      types.UID
	inputs   [sha256.Size]byte
	objects  []apply.Object
	selector string
	// unlisted is what the owner had when this was rendered. It is kept for as long as the rendering is, so that it is
	// not forgotten when neither the apply nor the write of status succeeds.
	unlisted []aiv1.InventoryEntry
}

// NewPipeline makes a Pipeline. The client reads from the cache; live reads past it.
func NewPipeline(renderer *render.Renderer, cached client.Client, live client.Reader, optional apply.Optional) *Pipeline {
	return &Pipeline{
		renderer: renderer,
		applier:  &apply.Applier{Client: cached, Live: live, Kinds: render.Kinds(), Optional: optional},
		reader:   cached,
		rendered: lru.New(renderedSize),
		facts:    facts.New(cached, live),
	}
}

// Forget drops what is remembered about an object that is gone.
func (p *Pipeline) Forget(kind string, name types.NamespacedName) {
	p.rendered.Remove(renderedKey{kind, name})
}

// Render turns the Inputs into objects. Inputs that were rendered before for this owner are not rendered again.
func (p *Pipeline) Render(ctx context.Context, scope *Scope) (err error) {
	if scope.Inputs == nil {
		scope.unlisted, err = p.applier.Owned(ctx, scope.Owner, scope.ChildName)
		return err
	}
	encoded, err := json.Marshal(scope.Inputs)
	if err != nil {
		return fmt.Errorf("encode the inputs: %w", err)
	}
	digest := sha256.Sum256(encoded)
	key := renderedKey{scope.Kind, client.ObjectKeyFromObject(scope.Owner)}
	known, _ := p.rendered.Get(key)
	if result, ok := known.(*rendering); ok && result.inputs == digest && result.uid == scope.Owner.GetUID() {
		result.give(scope)
		return nil
	}
	result, err := p.render(scope)
	if err != nil {
		scope.Conditions.Applied = renderFailure(err)
		return &terminalError{err}
	}
	result.inputs, result.uid = digest, scope.Owner.GetUID()
	// A new rendering may drop an object that an interrupted pass created and did not record.
	if result.unlisted, err = p.applier.Owned(ctx, scope.Owner, scope.ChildName); err != nil {
		return fmt.Errorf("list children: %w", err)
	}
	p.rendered.Add(key, result)
	result.give(scope)
	return nil
}

func (r *rendering) give(scope *Scope) {
	scope.objects, scope.selector, scope.unlisted = r.objects, r.selector, r.unlisted
}

func (p *Pipeline) render(scope *Scope) (*rendering, error) {
	defer metrics.TimeRender(scope.Kind)()
	builder := manifest.Builder{Renderer: p.renderer, Scheme: p.reader.Scheme()}
	set, err := builder.Build(scope.Owner.GetNamespace(), scope.ChildName, scope.ownerReference(), *scope.Inputs)
	if err != nil {
		return nil, err
	}
	return &rendering{objects: set.Objects, selector: set.Selector}, nil
}

func renderFailure(err error) conditions.Outcome {
	var ofValues *values.InvalidValuesError
	var ofSchema *render.InvalidValuesError
	switch {
	case errors.As(err, &ofValues), errors.As(err, &ofSchema):
		return conditions.False(aiv1.ReasonInvalidChartValues, err.Error())
	case errors.Is(err, values.ErrSourceNotSupported):
		return conditions.False(aiv1.ReasonSourceNotSupported, err.Error())
	case errors.Is(err, values.ErrFormatNotSupported):
		return conditions.False(aiv1.ReasonFormatNotSupported, err.Error())
	default:
		return conditions.False(aiv1.ReasonRenderFailed, err.Error())
	}
}

// Apply makes the objects stand in the cluster, and then deletes what is no longer rendered.
func (p *Pipeline) Apply(ctx context.Context, scope *Scope) error {
	recorded := slices.Concat(scope.Owner.GetServingStatus().Inventory, scope.unlisted)
	ready, early := split(scope)
	changes, err := p.applier.Apply(ctx, scope.Owner, ready)
	scope.changes = changes
	if err == nil {
		changes, err = p.applier.Prune(ctx, scope.Owner, recorded, scope.objects)
		scope.changes = append(scope.changes, changes...)
	}
	for _, change := range scope.changes {
		metrics.CountChange(scope.Kind, string(change.Action))
	}
	switch {
	case errors.Is(err, apply.ErrNotYet):
		scope.unfinished = true
		scope.Conditions.Applied = conditions.Unknown(aiv1.ReasonApplying, apply.ErrNotYet.Error())
		return errComeBack
	case err != nil:
		scope.Conditions.Applied = conditions.False(apply.Reason(err), err.Error())
		return err
	case early:
		scope.Conditions.Applied = conditions.Unknown(aiv1.ReasonApplying, "the autoscaler follows once status has the selector that it reads")
		return errComeBack
	case len(scope.objects) == 0:
		scope.Conditions.Applied = conditions.True(aiv1.ReasonNothingToApply, "")
	default:
		scope.Conditions.Applied = conditions.True(aiv1.ReasonObjectsApplied, "")
	}
	scope.applied = true
	return nil
}

// split gives the objects that can be applied now, and says whether others are too early: an autoscaler reads the selector
// of the pods from the owner's status, and complains in an event when it is not there yet.
func split(scope *Scope) (ready []apply.Object, early bool) {
	if scope.Owner.GetServingStatus().Selector != "" {
		return scope.objects, false
	}
	for _, object := range scope.objects {
		if object.GVK.Kind == "HorizontalPodAutoscaler" {
			early = true
			continue
		}
		ready = append(ready, object)
	}
	return ready, early
}
