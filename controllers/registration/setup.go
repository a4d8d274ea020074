package registration

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	r.Connections.Wake = r.queue.wake
	return ctrl.NewControllerManagedBy(mgr).
		Named("registration").
		For(&aiv1.AIModel{}, builder.WithPredicates(modelChanged())).
		Watches(&aiv1.InferenceService{}, handler.EnqueueRequestsFromMapFunc(r.modelOf), builder.WithPredicates(servingChanged())).
		Watches(&v1alpha1.ModelRegistry{}, handler.EnqueueRequestsFromMapFunc(r.usersOf), builder.WithPredicates(registryChanged())).
		WatchesRawSource(source.TypedFunc[reconcile.Request](r.queue.start)).
		WithOptions(options).
		Complete(r)
}

// waker puts objects into the controller's queue from outside.
type waker struct {
	mu    sync.Mutex
	queue queue
}

func (w *waker) start(_ context.Context, q queue) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = q
	return nil
}

func (w *waker) wake(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue != nil {
		w.queue.Add(reconcile.Request{NamespacedName: name})
	}
}

// concerned says whether the controller has anything to do with a model.
func concerned(object client.Object) bool {
	model, ok := object.(*aiv1.AIModel)
	return ok && (model.Spec.Registry != nil || model.Status.Registry != nil ||
		controllerutil.ContainsFinalizer(model, aiv1.FinalizerRegistryCleanup))
}

// modelChanged passes what changes the work to do for a model: its spec, its deletion, the annotation that skips the
// cleanup, and where it is served.
func modelChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return concerned(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			if !concerned(e.ObjectOld) && !concerned(e.ObjectNew) {
				return false
			}
			was, isOld := e.ObjectOld.(*aiv1.AIModel)
			is, isNew := e.ObjectNew.(*aiv1.AIModel)
			return !isOld || !isNew || was.Generation != is.Generation ||
				was.Annotations[aiv1.AnnotationSkipRegistryCleanup] != is.Annotations[aiv1.AnnotationSkipRegistryCleanup] ||
				was.Status.InferenceURL != is.Status.InferenceURL || was.Status.ModelEndpoint != is.Status.ModelEndpoint ||
				available(was) != available(is) ||
				// It was lost to a write of somebody who had not seen it.
				meta.FindStatusCondition(was.Status.Conditions, aiv1.ConditionRegistered) != nil &&
					meta.FindStatusCondition(is.Status.Conditions, aiv1.ConditionRegistered) == nil && is.Spec.Registry != nil
		},
		DeleteFunc:  func(e event.DeleteEvent) bool { return concerned(e.Object) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// servingChanged passes what a registry is told of a service.
func servingChanged() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, isOld := e.ObjectOld.(*aiv1.InferenceService)
			is, isNew := e.ObjectNew.(*aiv1.InferenceService)
			return !isOld || !isNew || was.Spec.ModelRef != is.Spec.ModelRef || was.Spec.Runtime.Name != is.Spec.Runtime.Name ||
				was.Status.URL != is.Status.URL || available(was) != available(is) ||
				was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero()
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func available(object interface{ GetConditions() []metav1.Condition }) bool {
	return meta.IsStatusConditionTrue(object.GetConditions(), aiv1.ConditionAvailable)
}

// modelOf finds the model of a service, if the controller has anything to do with it. One that it has nothing to do with, or that
// is not there, wakes it by itself when that changes.
func (r *Reconciler) modelOf(ctx context.Context, object client.Object) []reconcile.Request {
	service, ok := object.(*aiv1.InferenceService)
	if !ok {
		return nil
	}
	name := types.NamespacedName{Namespace: service.Namespace, Name: service.Spec.ModelRef.Name}
	model := &aiv1.AIModel{}
	if err := r.Client.Get(ctx, name, model); apierrors.IsNotFound(err) || err == nil && !concerned(model) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: name}}
}

// registryChanged passes what can free those who wait for a registry.
func registryChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, isOld := e.ObjectOld.(*v1alpha1.ModelRegistry)
			is, isNew := e.ObjectNew.(*v1alpha1.ModelRegistry)
			return !isOld || !isNew || was.Generation != is.Generation || !slices.Equal(was.Finalizers, is.Finalizers) ||
				!equality.Semantic.DeepEqual(
					meta.FindStatusCondition(was.Status.Conditions, v1alpha1.ConditionReady),
					meta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionReady))
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// usersOf finds the models that use a registry, and ends their pauses.
func (r *Reconciler) usersOf(ctx context.Context, object client.Object) []reconcile.Request {
	list := &aiv1.AIModelList{}
	err := r.Client.List(ctx, list, client.MatchingFields{index.Registry: client.ObjectKeyFromObject(object).String()})
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the models of a registry", "registry", object.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		name := client.ObjectKeyFromObject(&list.Items[i])
		r.memory.hurry(name)
		requests = append(requests, reconcile.Request{NamespacedName: name})
	}
	return requests
}
