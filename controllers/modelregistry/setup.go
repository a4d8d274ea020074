package modelregistry

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/watches"
)

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("modelregistry").
		For(&v1alpha1.ModelRegistry{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&aiv1.AIModel{}, r.registriesOf()).
		WithOptions(options).
		Complete(r)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// registriesOf wakes the registries that a model began or ceased to use. Many models at once cost one look.
func (r *Reconciler) registriesOf() handler.EventHandler {
	enqueue := func(names []types.NamespacedName, q queue) {
		for _, name := range names {
			q.AddAfter(reconcile.Request{NamespacedName: name}, watches.Gather)
		}
	}
	of := func(object client.Object) []types.NamespacedName {
		model, ok := object.(*aiv1.AIModel)
		if !ok {
			return nil
		}
		return r.Settings.Registries(model)
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if !e.IsInInitialList { // the registries are looked at then anyway
				enqueue(of(e.Object), q)
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if was, is := of(e.ObjectOld), of(e.ObjectNew); !slices.Equal(was, is) {
				enqueue(was, q)
				enqueue(is, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(of(e.Object), q) },
	}
}
