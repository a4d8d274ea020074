package aimodel

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/optional"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/watches"
)

// SetupWithManager adds the controller to a manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, options controller.Options, optionalKinds *optional.Kinds) error {
	b := watches.Owners(ctrl.NewControllerManagedBy(mgr).Named("aimodel").WithOptions(options), &aiv1.AIModel{})
	c, err := watches.Children(b, resolve.KindAIModel).Build(r)
	if err != nil {
		return err
	}
	optionalKinds.AddController(resolve.KindAIModel, c)
	return nil
}
