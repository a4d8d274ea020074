package registration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

const (
	defaultTimeout = time.Hour
	cleanupDigest  = "cleanup"
)

// obstacle is what keeps an entry from being cleaned up.
type obstacle struct {
	reason, message string
	// asked is false if the registry was not asked this time.
	asked bool
	// lost: the ModelRegistry or its Secret is gone.
	lost bool
	// busy: other calls to the registry come first. Nothing is wrong.
	busy bool
	// retry is when to try again.
	retry time.Duration
}

// finish cleans up after a model that is being deleted, and lets it go.
func (p *pass) finish(ctx context.Context) (ctrl.Result, error) {
	if !p.hasFinalizer() {
		return ctrl.Result{}, nil
	}
	records := p.recordsToFinish()
	left, hurdle, err := p.cleanAll(ctx, records)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(left) == 0 {
		return ctrl.Result{}, p.removeFinalizer(ctx)
	}
	givenUp, err := p.givesUp(ctx, hurdle, p.model.DeletionTimestamp.Time)
	if err != nil {
		return ctrl.Result{}, err
	}
	if givenUp.reason != "" {
		if err := p.removeFinalizer(ctx); err != nil {
			return ctrl.Result{}, err
		}
		givenUpEvent(p.Recorder, p.model, givenUp.reason, givenUp.message+": "+names(left)+" stays as it is")
		return ctrl.Result{}, nil
	}
	status := p.model.Status.Registry
	for _, record := range registration.Records(status) {
		if !slices.ContainsFunc(left, func(l aiv1.Registration) bool { return l.Key == record.Key }) {
			status = registration.Without(status, record.Key)
		}
	}
	return p.blocked(ctx, status, p.outcomeOf(aiv1.ConditionRegistered), hurdle, *p.model.DeletionTimestamp)
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

// cleanPrevious cleans up entries of a model that stays, once what replaces them stands.
func (p *pass) cleanPrevious(
	ctx context.Context, status *aiv1.RegistryStatus, registered conditions.Outcome, result ctrl.Result,
) (ctrl.Result, error) {
	left, hurdle, err := p.cleanAll(ctx, status.Previous)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := outcomes{registered: registered}
	if len(left) > 0 {
		since := metav1.Now()
		if status.Cleanup != nil {
			since = status.Cleanup.StartedAt
		}
		givenUp, err := p.givesUp(ctx, hurdle, since.Time)
		if err != nil {
			return ctrl.Result{}, err
		}
		if givenUp.reason == "" {
			status.Previous = left
			return p.blocked(ctx, status, registered, hurdle, since)
		}
		givenUpEvent(p.Recorder, p.model, givenUp.reason, givenUp.message+": "+names(left)+" stays as it is")
		now.cleanedUp = conditions.True(givenUp.reason, givenUp.message)
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

// givesUp says whether the cleanup ends without an end. Its reason is empty if it does not.
func (p *pass) givesUp(ctx context.Context, hurdle obstacle, since time.Time) (obstacle, error) {
	if why, ok := p.model.Annotations[aiv1.AnnotationSkipRegistryCleanup]; ok {
		message := fmt.Sprintf("the cleanup was skipped, for the reason %q", registry.OneLine(why))
		return obstacle{reason: aiv1.ReasonSkipped, message: message}, nil
	}
	if timeout, policy := p.timeout(); time.Since(since) > timeout && policy != aiv1.CleanupBlock {
		message := fmt.Sprintf("the cleanup did not succeed within %s: %s", timeout, hurdle.message)
		return obstacle{reason: aiv1.ReasonTimedOut, message: message}, nil
	}
	if hurdle.lost && !p.model.DeletionTimestamp.IsZero() {
		ends, err := p.namespaceEnds(ctx)
		if err != nil || !ends {
			return obstacle{}, err
		}
		return obstacle{reason: aiv1.ReasonSkipped, message: "the namespace is being deleted, and " + hurdle.message}, nil
	}
	return obstacle{}, nil
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

// cleanAll cleans up entries and returns those that are left, with what is in the way of the last of them.
func (p *pass) cleanAll(ctx context.Context, records []aiv1.Registration) ([]aiv1.Registration, obstacle, error) {
	if _, skip := p.model.Annotations[aiv1.AnnotationSkipRegistryCleanup]; skip {
		return records, obstacle{}, nil
	}
	digest := cleanupDigest + fmt.Sprint(p.model.Generation) // so that another policy is tried at once
	was := p.outcomeOf(aiv1.ConditionCleanedUp)
	if pause := p.remembered.pausing(digest); pause > 0 && was.Status == metav1.ConditionFalse {
		return records, obstacle{reason: was.Reason, message: was.Message, retry: pause}, nil
	}
	var left []aiv1.Registration
	var hurdle obstacle
	for _, record := range records {
		found, problem, err := p.clean(ctx, record)
		if err != nil {
			return records, obstacle{}, err
		}
		if found == nil {
			continue
		}
		left = append(left, record)
		if found.busy && hurdle.reason != "" {
			continue
		}
		hurdle = *found
		if problem != nil {
			hurdle.retry = p.remembered.failed(digest, problem)
		}
	}
	return left, hurdle, nil
}

// clean cleans up one entry. It returns nil once nothing is left to do, or what is in the way; the problem is the registry's answer,
// if it gave one.
func (p *pass) clean(ctx context.Context, record aiv1.Registration) (*obstacle, *registry.Error, error) {
	policy := record.DeletionPolicy
	if wanted := p.model.Spec.Registry; wanted != nil {
		policy = wanted.DeletionPolicy
	}
	// To leave an entry needs nobody.
	needed := func(hurdle *obstacle) *obstacle {
		if policy == aiv1.DeletionOrphan {
			return nil
		}
		return hurdle
	}
	connection, hurdle, err := p.connect(ctx, record)
	if err != nil {
		return nil, nil, err
	}
	if hurdle != nil {
		return needed(hurdle), nil, nil
	}
	err = p.unregister(ctx, connection, record, registry.DeletionPolicy(policy))
	if err == nil {
		return nil, nil, nil
	}
	if connections.Refused(err) {
		if pause := connection.OpenFor(); pause > 0 {
			return needed(&obstacle{reason: aiv1.ReasonUnreachable, message: err.Error(), retry: pause}), nil, nil
		}
		return &obstacle{reason: aiv1.ReasonInProgress, message: "other calls to the registry come first", busy: true, retry: fallback}, nil, nil
	}
	problem, err := asProblem(err)
	if err != nil {
		return nil, nil, err
	}
	return needed(&obstacle{reason: string(problem.Reason), message: problem.Error(), asked: true}), problem, nil
}

// connect opens the registry of a record, or the connection that there was to it.
func (p *pass) connect(ctx context.Context, record aiv1.Registration) (*connections.Connection, *obstacle, error) {
	name := registration.RegistryName(record)
	of, err := p.registry(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if of == nil {
		if last := p.Connections.Last(name); last != nil {
			return last, nil, nil
		}
		return nil, &obstacle{
			reason: aiv1.ReasonBlocked, lost: true, retry: fallback,
			message: fmt.Sprintf("ModelRegistry %q does not exist in namespace %q", name.Name, name.Namespace),
		}, nil
	}
	connection, err := p.Connections.Open(ctx, of, true)
	if errors.Is(err, connections.ErrSecretNotFound) {
		return nil, &obstacle{reason: aiv1.ReasonBlocked, lost: true, retry: fallback, message: err.Error()}, nil
	}
	if err == nil {
		return connection, nil, nil
	}
	problem, err := asProblem(err)
	if err != nil {
		return nil, nil, err
	}
	return nil, &obstacle{reason: string(problem.Reason), message: problem.Error(), retry: lastPause}, nil
}

// unregister takes an entry out of its registry. The entry of another incarnation goes too if there is no other one: after a
// restore from a backup, the entry still has the UID of before.
func (p *pass) unregister(
	ctx context.Context, connection *connections.Connection, record aiv1.Registration, policy registry.DeletionPolicy,
) error {
	key := client.ObjectKeyFromObject(p.model)
	what := p.Settings.Identify(p.model, record)
	err := connection.Unregister(ctx, key, what, policy)
	problem := (*registry.Error)(nil)
	if err == nil || connections.Refused(err) || !errors.As(err, &problem) || problem.Reason != registry.OtherIncarnation {
		return err
	}
	present, err := p.present(ctx)
	if err != nil {
		return err
	}
	if present != p.model.UID {
		return nil // it is the other one's
	}
	what.Owner.UID = problem.FoundUID
	return connection.Unregister(ctx, key, what, policy)
}

// present reads, past the cache, the UID of the object that has the model's name now.
func (p *pass) present(ctx context.Context) (types.UID, error) {
	list := &aiv1.AIModelList{}
	err := p.Live.List(ctx, list, client.InNamespace(p.model.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(metav1.ObjectNameField, p.model.Name)})
	if err != nil {
		return "", fmt.Errorf("read the model anew: %w", err)
	}
	if len(list.Items) == 0 {
		return "", nil
	}
	return list.Items[0].UID, nil
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
