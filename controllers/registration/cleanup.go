package registration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

const defaultTimeout = time.Hour

// leftover is what a cleanup did not get rid of.
type leftover struct {
	entries []aiv1.Registration
	// hurdle is in the way of the last of them.
	hurdle obstacle
	// ending says why they stay for ever; nil while the cleanup goes on.
	ending *ending
}

// problem says what keeps the entries from being cleaned up. Nil if nothing does, or nothing but that it is not their turn.
func (l leftover) problem() error {
	switch {
	case l.ending != nil:
		return errors.New(l.ending.message)
	case len(l.entries) > 0 && !l.hurdle.busy:
		return errors.New(l.hurdle.message)
	default:
		return nil
	}
}

// ending is a cleanup that ends without an end.
type ending struct{ reason, message string }

// finish cleans up after a model that is being deleted, and lets it go.
func (p *pass) finish(ctx context.Context) (ctrl.Result, error) {
	if !p.hasFinalizer() {
		return ctrl.Result{}, nil
	}
	left, err := p.cleanUp(ctx, p.recordsToFinish(), p.model.DeletionTimestamp.Time)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(left.entries) == 0 {
		return ctrl.Result{}, p.removeFinalizer(ctx)
	}
	if left.ending != nil {
		if err := p.removeFinalizer(ctx); err != nil {
			return ctrl.Result{}, err
		}
		givenUpEvent(p.Recorder, p.model, left)
		return ctrl.Result{}, nil
	}
	status := p.model.Status.Registry
	for _, record := range registration.Records(status) {
		if !slices.ContainsFunc(left.entries, func(l aiv1.Registration) bool { return l.Key == record.Key }) {
			status = registration.Without(status, record.Key)
		}
	}
	return p.blocked(ctx, status, p.outcomeOf(aiv1.ConditionRegistered), left.hurdle, *p.model.DeletionTimestamp)
}

// recordsToFinish lists the entries there are or may be. An object with the finalizer and no record comes from a backup that has
// no status: what it says that it wants may be there.
func (p *pass) recordsToFinish() []aiv1.Registration {
	records := registration.Records(p.model.Status.Registry)
	if name, ok := p.Settings.RegistryOf(p.model); ok && len(records) == 0 {
		records = append(records, p.Settings.Wanted(p.model, name))
	}
	return records
}

// cleanUp cleans up entries, and decides what becomes of those that it did not get rid of: it goes on with them, or gives them up.
// Since is when the cleanup began.
func (p *pass) cleanUp(ctx context.Context, records []aiv1.Registration, since time.Time) (left leftover, err error) {
	ctx, span := tracing.Step(ctx, "clean up")
	defer func() {
		if left.hurdle.busy {
			span.Outcome(tracing.OutcomeBusy)
		}
		span.End(cmp.Or(err, left.problem()))
	}()
	entries, hurdle, err := p.cleanAll(ctx, records)
	if err != nil || len(entries) == 0 {
		return leftover{}, err
	}
	ending, err := p.givesUp(ctx, hurdle, since)
	return leftover{entries, hurdle, ending}, err
}

// cleanPrevious cleans up entries of a model that stays, once what replaces them stands.
func (p *pass) cleanPrevious(
	ctx context.Context, status *aiv1.RegistryStatus, registered conditions.Outcome, result ctrl.Result,
) (ctrl.Result, error) {
	since := metav1.Now()
	if status.Cleanup != nil {
		since = status.Cleanup.StartedAt
	}
	left, err := p.cleanUp(ctx, status.Previous, since.Time)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := outcomes{registered: registered}
	switch {
	case len(left.entries) == 0:
	case left.ending == nil:
		status.Previous = left.entries
		return p.blocked(ctx, status, registered, left.hurdle, since)
	default:
		givenUpEvent(p.Recorder, p.model, left)
		now.cleanedUp = conditions.True(left.ending.reason, left.ending.message)
	}
	status.Previous, status.Cleanup = nil, nil
	if registered.IsTrue() && registered.Reason == aiv1.ReasonRegistered {
		status.LastError = ""
	}
	p.memory.unblock(client.ObjectKeyFromObject(p.model))
	if status.Key == "" {
		status = nil
	}
	if err := p.writeStatus(ctx, status, now); err != nil {
		return ctrl.Result{}, err
	}
	if status == nil {
		return result, p.removeFinalizer(ctx)
	}
	return result, nil
}

// blocked says in status what a cleanup waits for. Attempts moves only when the registry was asked.
func (p *pass) blocked(
	ctx context.Context, status *aiv1.RegistryStatus, registered conditions.Outcome, hurdle obstacle, since metav1.Time,
) (ctrl.Result, error) {
	was := p.outcomeOf(aiv1.ConditionCleanedUp)
	if hurdle.busy {
		// Its turn comes soon: there is nothing to tell, and where hundreds are deleted at once, much to write.
		return ctrl.Result{RequeueAfter: hurdle.retry}, p.writeStatus(ctx, status, outcomes{registered, was})
	}
	p.memory.block(client.ObjectKeyFromObject(p.model))
	next := &aiv1.RegistryStatus{}
	if status != nil {
		next = status.DeepCopy()
	}
	outcome := conditions.False(hurdle.reason, hurdle.message)
	if !hurdle.asked && !hurdle.lost && was.Status == metav1.ConditionFalse {
		outcome = was // what the registry said when it was asked tells more
	} else {
		next.LastError = hurdle.message
	}
	if next.Cleanup == nil {
		next.Cleanup = &aiv1.CleanupStatus{StartedAt: since}
	}
	if hurdle.asked {
		next.Cleanup.Attempts++
	}
	timeout, policy := p.timeout()
	if time.Since(since.Time) > timeout && policy == aiv1.CleanupBlock {
		outcome = conditions.False(aiv1.ReasonTimedOut, hurdle.message)
	}
	retry := hurdle.retry
	if left := time.Until(since.Add(timeout)); left > 0 {
		retry = min(retry, left+time.Second)
	}
	return ctrl.Result{RequeueAfter: retry}, p.writeStatus(ctx, next, outcomes{registered, outcome})
}

// givesUp says why the cleanup ends without an end, or nil if it goes on.
func (p *pass) givesUp(ctx context.Context, hurdle obstacle, since time.Time) (*ending, error) {
	if why, ok := p.model.Annotations[aiv1.AnnotationSkipRegistryCleanup]; ok {
		message := fmt.Sprintf("the cleanup was skipped, for the reason %q", registry.OneLine(why))
		return &ending{reason: aiv1.ReasonSkipped, message: message}, nil
	}
	if timeout, policy := p.timeout(); time.Since(since) > timeout && policy != aiv1.CleanupBlock {
		message := fmt.Sprintf("the cleanup did not succeed within %s: %s", timeout, hurdle.message)
		return &ending{reason: aiv1.ReasonTimedOut, message: message}, nil
	}
	if hurdle.lost && !p.model.DeletionTimestamp.IsZero() {
		ends, err := p.namespaceEnds(ctx)
		if err != nil || !ends {
			return nil, err
		}
		return &ending{reason: aiv1.ReasonSkipped, message: "the namespace is being deleted, and " + hurdle.message}, nil
	}
	return nil, nil
}

func (p *pass) timeout() (time.Duration, aiv1.CleanupTimeoutPolicy) {
	if wanted := p.model.Spec.Registry; wanted != nil && wanted.Cleanup != nil {
		timeout := defaultTimeout
		if wanted.Cleanup.Timeout != nil {
			timeout = wanted.Cleanup.Timeout.Duration
		}
		return timeout, wanted.Cleanup.OnTimeout
	}
	return defaultTimeout, aiv1.CleanupOrphan
}

func names(records []aiv1.Registration) string {
	text := ""
	for i, record := range records {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("version %s of %s in %s", record.ModelVersion, record.Name, registration.RegistryName(record).Name)
	}
	return text
}
