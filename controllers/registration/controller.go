// Package registration registers AIModels in external registries and cleans up after them. It has workers of its own: however
// slow a registry is, no model is served later for it. Of an AIModel it writes only the finalizer, status.registry and the
// conditions Registered and CleanedUp; everything else in status is for the controller that serves the model.
package registration

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

// again is how soon an object is looked at again whose cached copy is older than what was written last, or changed meanwhile.
const again = 50 * time.Millisecond

// Reconciler registers AIModels.
type Reconciler struct {
	// Client reads from the cache.
	Client client.Client
	// Live reads past it: an AIModel before another incarnation's entry is deleted, and a Namespace when nothing can be cleaned up.
	Live        client.Reader
	Connections *connections.Connections
	Settings    registration.Settings
	Recorder    events.EventRecorder

	memory memory
	queue  waker
}

// +kubebuilder:rbac:groups=ai.example.com,resources=aimodels;inferenceservices,verbs=list;watch
// +kubebuilder:rbac:groups=ai.example.com,resources=aimodels,verbs=patch
// +kubebuilder:rbac:groups=ai.example.com,resources=aimodels/status,verbs=patch
// +kubebuilder:rbac:groups=ai.example.com,resources=modelregistries,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// pass is one look at one model.
type pass struct {
	*Reconciler
	model *aiv1.AIModel
	// remembered is what is known of the model beside its status.
	remembered *remembered
}

// Reconcile makes the registries say what one AIModel says.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	ctx, span := tracing.ReconcilePart(ctx, resolve.KindAIModel, "registration", request.NamespacedName)
	defer func() { span.End(err) }()
	model := &aiv1.AIModel{}
	if err := r.Client.Get(ctx, request.NamespacedName, model); apierrors.IsNotFound(err) {
		span.Outcome(tracing.OutcomeGone)
		return r.follow(ctx, request.NamespacedName)
	} else if err != nil {
		return ctrl.Result{}, err
	}
	if r.memory.isAnother(request.NamespacedName, model.UID) {
		// What is in the way of that cleanup is in this one's way too, if they have the entry in common: then it is taken over.
		if _, err := r.follow(ctx, request.NamespacedName); err != nil {
			return ctrl.Result{}, err
		}
	}
	p := &pass{Reconciler: r, model: model, remembered: r.memory.of(request.NamespacedName, model.UID)}
	if p.remembered.newer(model) {
		// To act on an old copy could register what was cleaned up just now.
		span.Outcome(tracing.OutcomeOvertaken)
		return ctrl.Result{RequeueAfter: again}, nil
	}
	switch {
	case !model.DeletionTimestamp.IsZero():
		// First of all, before anything is resolved: what the model refers to may be gone too.
		result, err = p.finish(ctx)
	case model.Spec.Registry == nil && len(registration.Records(model.Status.Registry)) == 0:
		err = p.retire(ctx)
	default:
		result, err = p.keep(ctx)
	}
	p.remembered.hold(p.model)
	p.tell(span, err)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	// What is gone meanwhile needs nothing.
	return result, client.IgnoreNotFound(err)
}

// retire takes the marks off a model that is registered nowhere.
func (p *pass) retire(ctx context.Context) error {
	if err := p.writeStatus(ctx, nil, outcomes{}); err != nil {
		return err
	}
	return p.removeFinalizer(ctx)
}

func (p *pass) hasFinalizer() bool {
	return controllerutil.ContainsFinalizer(p.model, aiv1.FinalizerRegistryCleanup)
}

func (p *pass) addFinalizer(ctx context.Context) error {
	return p.patchFinalizers(ctx, controllerutil.AddFinalizer)
}

// removeFinalizer lets the model go.
func (p *pass) removeFinalizer(ctx context.Context) error {
	err := p.patchFinalizers(ctx, controllerutil.RemoveFinalizer)
	if err == nil {
		p.memory.unblock(client.ObjectKeyFromObject(p.model))
	}
	return err
}

func (p *pass) patchFinalizers(ctx context.Context, change func(client.Object, string) bool) (err error) {
	before := p.model.DeepCopy()
	if !change(p.model, aiv1.FinalizerRegistryCleanup) {
		return nil
	}
	ctx, span := tracing.Step(ctx, "finalizer")
	defer func() { span.End(err) }()
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := p.Client.Patch(ctx, p.model, patch); err != nil {
		p.model = before
		return fmt.Errorf("patch the finalizers: %w", err)
	}
	p.remembered.wrote(p.model)
	return nil
}

// registry returns a ModelRegistry from the cache, or nil.
func (p *pass) registry(ctx context.Context, name types.NamespacedName) (*v1alpha1.ModelRegistry, error) {
	found := &v1alpha1.ModelRegistry{}
	err := p.Client.Get(ctx, name, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ModelRegistry %q: %w", name.Name, err)
	}
	return found, nil
}

// namespaceEnds says whether the namespace is being deleted, and with it everything that is not there already for ever.
func (p *pass) namespaceEnds(ctx context.Context) (bool, error) {
	namespace := &corev1.Namespace{}
	err := p.Live.Get(ctx, types.NamespacedName{Name: p.model.Namespace}, namespace)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the namespace: %w", err)
	}
	return !namespace.DeletionTimestamp.IsZero(), nil
}
