package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

const cleanupDigest = "cleanup"

// busyMessage is what status says while it is not an object's turn with the registry.
const busyMessage = "other calls to the registry come first"

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
		return &obstacle{reason: aiv1.ReasonInProgress, message: busyMessage, busy: true, retry: fallback}, nil, nil
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
