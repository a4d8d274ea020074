package registration

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

// outcomes are the two conditions. One without a status is taken off.
type outcomes struct {
	registered, cleanedUp conditions.Outcome
}

// writeStatus patches status.registry and the two conditions, if they differ, and tells of what changed. The patch is bound to
// what was read, because the list of conditions is written as a whole and another controller writes it too.
func (p *pass) writeStatus(ctx context.Context, status *aiv1.RegistryStatus, now outcomes) (err error) {
	ctx, span := tracing.Step(ctx, "status")
	defer func() { span.End(err) }()
	before := p.model.DeepCopy()
	if status != nil && equality.Semantic.DeepEqual(*status, aiv1.RegistryStatus{}) {
		status = nil
	}
	list := append([]metav1.Condition(nil), p.model.Status.Conditions...)
	conditions.Put(&list, p.model.Generation, aiv1.ConditionRegistered, now.registered)
	conditions.Put(&list, p.model.Generation, aiv1.ConditionCleanedUp, now.cleanedUp)
	p.model.Status.Registry, p.model.Status.Conditions = status, list
	if equality.Semantic.DeepEqual(before.Status, p.model.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := p.Client.Status().Patch(ctx, p.model, patch); err != nil {
		p.model = before
		return fmt.Errorf("patch status: %w", err)
	}
	p.remembered.wrote(p.model)
	record(p.Recorder, before, p.model)
	return nil
}

// outcomeOf is what a condition says now. Without a status if it is not there.
func (p *pass) outcomeOf(kind string) conditions.Outcome {
	return conditions.Of(p.model.Status.Conditions, kind)
}

// settled is CleanedUp where nothing is left to clean up: it stays only to tell of a cleanup that was given up.
func (p *pass) settled(status *aiv1.RegistryStatus) conditions.Outcome {
	was := p.outcomeOf(aiv1.ConditionCleanedUp)
	if (status == nil || len(status.Previous) == 0) && !was.IsTrue() {
		return conditions.Outcome{}
	}
	return was
}

// withError is the status with another last error.
func withError(status *aiv1.RegistryStatus, message string) *aiv1.RegistryStatus {
	next := &aiv1.RegistryStatus{}
	if status != nil {
		next = status.DeepCopy()
	}
	next.LastError = message
	return next
}
