package registration

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

// tell says in the trace how a pass went.
func (p *pass) tell(span tracing.Span, err error) {
	going := !p.model.DeletionTimestamp.IsZero()
	switch {
	case apierrors.IsConflict(err):
		span.Outcome(tracing.OutcomeOvertaken)
		return
	case client.IgnoreNotFound(err) != nil:
		span.Outcome(string(metrics.Transient))
	case going && !p.hasFinalizer():
		span.Outcome(tracing.OutcomeDeleted)
	case going || p.waits():
		span.Outcome(string(metrics.Waiting))
	default:
		span.Outcome(tracing.OutcomeOK)
	}
	registered, cleanedUp := p.outcomeOf(aiv1.ConditionRegistered), p.outcomeOf(aiv1.ConditionCleanedUp)
	reason := registered.Reason
	if cleanedUp.Status != "" && !cleanedUp.IsTrue() {
		reason = cleanedUp.Reason
	}
	if reason != "" {
		span.Registered(string(registered.Status), reason)
	}
}

// waits says whether something keeps a model that is to stay from being registered as it wants, or from being rid of earlier entries.
func (p *pass) waits() bool {
	registered := p.outcomeOf(aiv1.ConditionRegistered)
	status := p.model.Status.Registry
	return registered.Status != "" && registered.Reason != aiv1.ReasonRegistered || status != nil && len(status.Previous) > 0
}

// endCall ends the span of a call of a registry. One whose turn has not come has not failed.
func endCall(span tracing.Span, err error) {
	if connections.Busy(err) {
		span.Outcome(tracing.OutcomeBusy)
		err = nil
	}
	span.End(err)
}
