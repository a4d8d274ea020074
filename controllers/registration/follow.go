package registration

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// follow cleans up after a model that is gone, if it went without waiting for its finalizer. An API server that finds no finalizer
// when it begins to delete an object goes on even if one is added meanwhile, so a model that is deleted just after it was
// created can be registered when it is gone. Only this process knows of it then.
func (r *Reconciler) follow(ctx context.Context, name types.NamespacedName) (ctrl.Result, error) {
	known := r.memory.known(name)
	if known == nil || known.held == nil {
		r.memory.forget(name)
		return ctrl.Result{}, nil
	}
	p := &pass{Reconciler: r, model: known.held, remembered: known}
	present, err := p.present(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if present == p.model.UID { // the cache knows less
		return ctrl.Result{RequeueAfter: again}, nil
	}
	if p.model.DeletionTimestamp.IsZero() {
		now := metav1.Now()
		p.model.DeletionTimestamp = &now
	}
	left, err := p.cleanUp(ctx, p.recordsToFinish(), p.model.DeletionTimestamp.Time)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case left.ending != nil:
		log.FromContext(ctx).Info("A model is gone, and its entry in a registry stays",
			"entries", names(left.entries), "reason", left.ending.message)
	case len(left.entries) > 0:
		return ctrl.Result{RequeueAfter: left.hurdle.retry}, nil
	}
	r.memory.forget(name)
	return ctrl.Result{}, nil
}
