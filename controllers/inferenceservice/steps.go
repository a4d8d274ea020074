package inferenceservice

import (
	"context"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// resolve follows the references of the service: its model, and what that refers to.
func (r *Reconciler) resolve(ctx context.Context, svc *aiv1.InferenceService, scope *serving.Scope) error {
	inputs, err := r.Resolver.InferenceService(ctx, svc)
	if err != nil {
		return err
	}
	scope.Inputs = &inputs
	return nil
}
