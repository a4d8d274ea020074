package modelregistry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

// writeStatus computes the status from the last check, in memory.
func writeStatus(of *v1alpha1.ModelRegistry, err error, users []string) {
	reachable, authorized := verdict(err)
	ready := authorized
	if !reachable.IsTrue() {
		ready = reachable
	}
	released := conditions.Outcome{}
	if !of.DeletionTimestamp.IsZero() {
		released = conditions.False(v1alpha1.ReasonInUse, inUse(users))
	}
	list := slices.Clone(of.Status.Conditions)
	conditions.Put(&list, of.Generation, v1alpha1.ConditionReady, ready)
	conditions.Put(&list, of.Generation, v1alpha1.ConditionReachable, reachable)
	conditions.Put(&list, of.Generation, v1alpha1.ConditionAuthorized, authorized)
	conditions.Put(&list, of.Generation, v1alpha1.ConditionReleased, released)
	of.Status.Conditions = list
	of.Status.ObservedGeneration = of.Generation
	of.Status.Registrations = int32(min(len(users), 1<<30))
}

// verdict says what the end of a check tells of the two conditions.
func verdict(err error) (reachable, authorized conditions.Outcome) {
	answers := conditions.True(v1alpha1.ReasonAnswers, "")
	var typed *registry.Error
	switch {
	case err == nil:
		return answers, conditions.True(v1alpha1.ReasonAccepted, "")
	case errors.Is(err, connections.ErrSecretNotFound):
		return conditions.Unknown(v1alpha1.ReasonNotChecked, ""), conditions.False(aiv1.ReasonSecretNotFound, err.Error())
	case !errors.As(err, &typed):
		return conditions.Unknown(v1alpha1.ReasonNotChecked, err.Error()), conditions.Unknown(v1alpha1.ReasonNotChecked, "")
	case typed.Reason == registry.Unauthorized:
		return answers, conditions.False(string(typed.Reason), typed.Error())
	case typed.Reason == registry.RateLimited:
		// It answers; whether it would let the operator in it has said before.
		return answers, conditions.True(v1alpha1.ReasonAccepted, "")
	default:
		return conditions.False(string(typed.Reason), typed.Error()), conditions.Unknown(v1alpha1.ReasonNotChecked, "")
	}
}

// patchStatus writes status if it differs from what was read.
func (r *Reconciler) patchStatus(ctx context.Context, before, after *v1alpha1.ModelRegistry) (err error) {
	ctx, span := tracing.Step(ctx, "status")
	defer func() { span.End(err) }()
	if before.Status.ObservedGeneration != 0 && equality.Semantic.DeepEqual(before.Status, after.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, after, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patch status: %w", err)
	}
	return nil
}
