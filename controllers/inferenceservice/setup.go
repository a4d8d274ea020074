package inferenceservice

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/optional"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/watches"
)

// SetupWithManager adds the controller to a manager. The index of package index must be registered with its cache.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, optionalKinds *optional.Kinds) error {
	b := watches.Owners(ctrl.NewControllerManagedBy(mgr).Named("inferenceservice").WithOptions(options), &aiv1.InferenceService{}).
		Watches(&aiv1.AIModel{}, handler.EnqueueRequestsFromMapFunc(r.servicesOf), builder.WithPredicates(watches.Model()))
	c, err := watches.Children(b, resolve.KindInferenceService).Build(r)
	if err != nil {
		return err
	}
	optionalKinds.AddController(resolve.KindInferenceService, c)
	return nil
}

// servicesOf finds the services that refer to a model.
func (r *Reconciler) servicesOf(ctx context.Context, model client.Object) []reconcile.Request {
	services := &aiv1.InferenceServiceList{}
	err := r.Client.List(ctx, services, client.InNamespace(model.GetNamespace()),
		client.MatchingFields{index.ModelRef: model.GetName()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		log.FromContext(ctx).Error(err, "List the services of a model", "aimodel", client.ObjectKeyFromObject(model))
		return nil
	}
	requests := make([]reconcile.Request, 0, len(services.Items))
	for i := range services.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
			Namespace: services.Items[i].Namespace, Name: services.Items[i].Name}})
	}
	return requests
}
