package aimodel

import (
	"context"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// resolve follows the references of the model. They are followed for a model that runs nothing too: the
// InferenceServices that refer to it need them.
func (r *Reconciler) resolve(ctx context.Context, model *aiv1.AIModel, scope *serving.Scope) error {
	inputs, err := r.Resolver.AIModel(ctx, model)
	if err != nil {
		return err
	}
	switch {
	case model.Spec.Image != "":
		scope.Inputs = &inputs
	case resolve.IsURL(model.Spec.Endpoint):
		scope.Idle = conditions.True(aiv1.ReasonServedElsewhere, "the model is served at "+model.Spec.Endpoint)
	default:
		scope.Idle = conditions.True(aiv1.ReasonCatalogued, "the model can be named by InferenceServices")
	}
	return nil
}
