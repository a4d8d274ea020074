package inferenceservice

import (
	"context"
	"fmt"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// resolve follows the references of the service: its model, and what that refers to.
func (r *Reconciler) resolve(ctx context.Context, scope *serving.Scope) error {
	svc, ok := scope.Owner.(*aiv1.InferenceService)
	if !ok {
		return fmt.Errorf("%T is not an InferenceService", scope.Owner)
	}
	inputs, err := r.Resolver.InferenceService(ctx, svc)
	if err != nil {
		return err
	}
	scope.Inputs = &inputs
	return nil
}
