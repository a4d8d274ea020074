package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// Action is what Apply did to an object.
type Action string

// The actions.
const (
	Created Action = "Created"
	// Updated: what is rendered has changed.
	Updated Action = "Updated"
	// Repaired: what is rendered is the same, and somebody had changed the live object.
	Repaired Action = "Repaired"
	Deleted  Action = "Deleted"
)

// Change is one thing that Apply did.
type Change struct {
	Action     Action
	Kind, Name string
}

// Applier applies and prunes the children of owners.
type Applier struct {
	// Client reads children from the cache and writes them.
	Client client.Client
	// Live reads past the cache. It is used only where the cache cannot know: for an object that turned out to exist, and
	// once in the life of a created object that changes (see managed.go).
	Live client.Reader
	// Kinds are the kinds of children that charts can render.
	Kinds []schema.GroupVersionKind
	// Optional knows about those kinds that a cluster may lack. Nil means that every kind is served.
	Optional Optional

	turns turns
}

// Optional tells of kinds that a cluster may lack.
type Optional interface {
	// Ensure says whether a kind is served, and makes it readable from the cache when it is.
	Ensure(schema.GroupVersionKind) (bool, error)
	// IsWatched says whether a kind is readable from the cache already. It asks nobody.
	IsWatched(schema.GroupVersionKind) bool
}

// Apply makes the objects stand in the cluster as rendered, in the order given, and returns what it changed. It stops at
// the first error; what was changed before that is still returned. ErrNotYet is none: the rest is to be applied a moment later.
func (a *Applier) Apply(ctx context.Context, owner client.Object, objects []Object) ([]Change, error) {
	var changes []Change
	for _, object := range objects {
		action, err := a.applyInTurn(ctx, owner, object, changes)
		if err != nil {
			return changes, fmt.Errorf("apply %s %q: %w", object.GVK.Kind, object.Name, err)
		}
		if action != "" {
			changes = append(changes, Change{Action: action, Kind: object.GVK.Kind, Name: object.Name})
		}
	}
	return changes, nil
}

// applyInTurn applies an object after those changes of the same pass.
func (a *Applier) applyInTurn(ctx context.Context, owner client.Object, object Object, changes []Change) (Action, error) {
	giveBack, ok := a.turns.take(object, changes)
	if !ok {
		return "", ErrNotYet
	}
	defer giveBack()
	return a.applyOne(ctx, owner, object)
}

func (a *Applier) applyOne(ctx context.Context, owner client.Object, object Object) (Action, error) {
	if served, err := a.served(object.GVK); err != nil {
		return "", err
	} else if !served {
		return "", &NotServedError{GVK: object.GVK}
	}
	live, err := a.get(ctx, a.Client, object)
	if apierrors.IsNotFound(err) {
		err = a.Client.Create(ctx, object.request(createdPrefix), client.FieldOwner(aiv1.ManagedBy))
		if err == nil {
			return Created, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return "", err
		}
		// Either the cache lags behind our own create, or somebody else has the name.
		live, err = a.get(ctx, a.Live, object)
	}
	if err != nil {
		return "", err
	}
	return a.update(ctx, owner, object, live)
}

func (a *Applier) served(gvk schema.GroupVersionKind) (bool, error) {
	if a.Optional == nil {
		return true, nil
	}
	return a.Optional.Ensure(gvk)
}

func (a *Applier) update(ctx context.Context, owner client.Object, object Object, live client.Object) (Action, error) {
	if !metav1.IsControlledBy(live, owner) {
		return "", &ConflictError{Kind: object.GVK.Kind, Namespace: object.Namespace, Name: object.Name, Holder: holder(live)}
	}
	if !live.GetDeletionTimestamp().IsZero() {
		return "", &TerminatingError{Kind: object.GVK.Kind, Name: object.Name}
	}
	action := Updated
	if IsLatest(live, object) {
		if same, err := hasAll(live, object); same || err != nil {
			return "", err
		}
		action = Repaired
	}
	if wasCreated(live) {
		if err := a.adoptCreatedFields(ctx, object, live); err != nil {
			return "", fmt.Errorf("take over the fields of the create: %w", err)
		}
	}
	request := object.request(appliedPrefix)
	// The identity check above spoke of the cached object; this makes the API server hold us to it.
	request.SetUID(live.GetUID())
	err := a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(request),
		client.FieldOwner(aiv1.ManagedBy), client.ForceOwnership)
	if apierrors.IsInvalid(err) {
		err = a.replace(ctx, object, live)
	}
	return action, err
}

// replace mends what an apply cannot. An apply adds to keyed lists: when somebody changed the key of an entry, such as
// the number of a port, their entry stays beside ours, and the API server refuses the two. A merge patch puts whole lists
// in place of what is there. Its fields are recorded like those of a create, and so it is marked like one.
func (a *Applier) replace(ctx context.Context, object Object, live client.Object) error {
	request := object.request(createdPrefix)
	request.SetUID(live.GetUID())
	data, err := request.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return a.Client.Patch(ctx, live, client.RawPatch(types.MergePatchType, data), client.FieldOwner(aiv1.ManagedBy))
}

func (a *Applier) get(ctx context.Context, reader client.Reader, object Object) (client.Object, error) {
	typed, err := a.Client.Scheme().New(object.GVK)
	if err != nil {
		return nil, fmt.Errorf("kind %s is not known to the operator: %w", object.GVK, err)
	}
	live, ok := typed.(client.Object)
	if !ok {
		return nil, fmt.Errorf("kind %s is not an object", object.GVK)
	}
	return live, reader.Get(ctx, object.key(), live)
}

// hasAll says whether a live object still has everything that was rendered.
func hasAll(live client.Object, object Object) (bool, error) {
	have, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
	if err != nil {
		return false, fmt.Errorf("convert: %w", err)
	}
	want := object.content()
	// Typed objects from the cache do not carry these.
	delete(want, "kind")
	delete(want, "apiVersion")
	return coversMap(have, want), nil
}

func holder(live client.Object) string {
	if controller := metav1.GetControllerOf(live); controller != nil {
		return fmt.Sprintf("controlled by %s %q", controller.Kind, controller.Name)
	}
	return "not controlled by this operator"
}
