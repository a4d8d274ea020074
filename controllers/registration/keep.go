package registration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

// fallback is when to look again at an object that a wake-up is expected for.
const fallback = 30 * time.Second

// keep registers a model that is to stay, and then cleans up what it had registered before.
func (p *pass) keep(ctx context.Context) (ctrl.Result, error) {
	if p.model.Spec.Registry == nil {
		next := registration.Advance(p.model.Status.Registry, nil)
		if err := p.writeStatus(ctx, next, outcomes{cleanedUp: p.outcomeOf(aiv1.ConditionCleanedUp)}); err != nil {
			return ctrl.Result{}, err
		}
		return p.cleanPrevious(ctx, next, conditions.Outcome{}, ctrl.Result{})
	}
	of, problem, err := p.target(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	status := p.model.Status.Registry
	if problem != nil {
		// What is registered stays, until something else can be.
		registered := p.pending(status, *problem)
		return ctrl.Result{}, p.writeStatus(ctx, withError(status, problem.Message), outcomes{registered, p.outcomeOf(aiv1.ConditionCleanedUp)})
	}
	if err := p.addFinalizer(ctx); err != nil {
		return ctrl.Result{}, err
	}
	wanted := p.Settings.Wanted(p.model, client.ObjectKeyFromObject(of))
	next := registration.Advance(status, &wanted)
	if status == nil || status.Key != next.Key {
		// Recorded before the registry is asked: whatever happens then, it is known what there may be to clean up.
		err := p.writeStatus(ctx, next, outcomes{
			registered: conditions.False(aiv1.ReasonRegistering, "the registry is being asked"),
			cleanedUp:  p.outcomeOf(aiv1.ConditionCleanedUp),
		})
		if err != nil {
			return ctrl.Result{}, err
		}
	}
	next, registered, result, err := p.register(ctx, of, next)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !registered.IsTrue() || len(next.Previous) == 0 {
		return result, p.writeStatus(ctx, next, outcomes{registered, p.settled(next)})
	}
	return p.cleanPrevious(ctx, next, registered, result)
}

// target finds the registry of the model. The outcome, if there is one, says why it cannot be used.
func (p *pass) target(ctx context.Context) (of *v1alpha1.ModelRegistry, problem *conditions.Outcome, err error) {
	ctx, span := tracing.Step(ctx, "resolve")
	defer func() {
		if problem != nil {
			span.End(errors.New(problem.Message))
			return
		}
		span.End(err)
	}()
	name, ok := p.Settings.RegistryOf(p.model)
	no := func(reason, message string) (*v1alpha1.ModelRegistry, *conditions.Outcome, error) {
		outcome := conditions.False(reason, message)
		return nil, &outcome, nil
	}
	if !ok {
		return no(aiv1.ReasonRegistryNotFound, "spec.registry.registryRef names no ModelRegistry, and the operator has no default one")
	}
	if p.Settings.Cluster == "" {
		return no(aiv1.ReasonInvalid,
			"the operator may not read the namespace kube-system, which identifies the cluster: start it with --cluster-id")
	}
	of, err = p.registry(ctx, name)
	switch {
	case err != nil:
		return nil, nil, err
	case of == nil:
		return no(aiv1.ReasonRegistryNotFound, fmt.Sprintf("ModelRegistry %q does not exist in namespace %q", name.Name, name.Namespace))
	case !of.DeletionTimestamp.IsZero():
		return no(aiv1.ReasonRegistryDeleting, fmt.Sprintf("ModelRegistry %q is being deleted", name.Name))
	case !slices.Contains(of.Finalizers, v1alpha1.FinalizerInUse):
		// Its own controller is about to protect it, which wakes this one.
		return no(aiv1.ReasonRegistering, fmt.Sprintf("ModelRegistry %q is not ready to be used yet", name.Name))
	case p.model.Status.Registry != nil && len(p.model.Status.Registry.Previous) >= registration.MaxPrevious:
		wanted := p.Settings.Wanted(p.model, name)
		if p.model.Status.Registry.Key != wanted.Key {
			return no(aiv1.ReasonBlocked, fmt.Sprintf("%d earlier entries wait for their cleanup", registration.MaxPrevious))
		}
	}
	return of, nil, nil
}

// register brings the current entry up to date, unless it is so already or a pause is on.
func (p *pass) register(ctx context.Context, of *v1alpha1.ModelRegistry, status *aiv1.RegistryStatus) (
	*aiv1.RegistryStatus, conditions.Outcome, ctrl.Result, error,
) {
	services, err := p.services(ctx)
	if err != nil {
		return status, conditions.Outcome{}, ctrl.Result{}, err
	}
	what := p.Settings.Describe(p.model, status.Registration, registration.Servings(p.model, services))
	digest, err := digestOf(what, of)
	if err != nil {
		return status, conditions.Outcome{}, ctrl.Result{}, err
	}
	was := p.outcomeOf(aiv1.ConditionRegistered)
	if left, ok := p.remembered.upToDate(digest); ok && was.Reason == aiv1.ReasonRegistered {
		return status, was, ctrl.Result{RequeueAfter: left}, nil
	}
	if pause := p.remembered.pausing(digest); pause > 0 && was.Status != "" && was.Reason != aiv1.ReasonRegistered {
		return status, was, ctrl.Result{RequeueAfter: pause}, nil
	}
	entry, connection, err := p.ask(ctx, of, what)
	if connections.Refused(err) {
		if was.Reason == aiv1.ReasonRegistered || was.Reason == aiv1.ReasonRegistering || was.Status == "" {
			was = p.pending(status, conditions.False(aiv1.ReasonRegistering, busyMessage))
		}
		return status, was, ctrl.Result{RequeueAfter: max(fallback, connection.OpenFor())}, nil
	}
	next := status.DeepCopy()
	if entry.ID != "" {
		next.ID, next.Version, next.URL, next.Created = entry.ID, entry.Version, entry.URL, entry.Created
	}
	if err == nil {
		next.LastError = ""
		p.remembered.succeeded(digest)
		left, _ := p.remembered.upToDate(digest)
		return next, conditions.True(aiv1.ReasonRegistered, ""), ctrl.Result{RequeueAfter: left}, nil
	}
	problem, err := asProblem(err)
	if err != nil {
		return status, conditions.Outcome{}, ctrl.Result{}, err
	}
	next.LastError = problem.Error()
	pause := p.remembered.failed(digest, problem)
	return next, p.pending(status, conditions.False(string(problem.Reason), problem.Error())), ctrl.Result{RequeueAfter: pause}, nil
}

// ask has the registry register. The connection is nil if there is none.
func (p *pass) ask(ctx context.Context, of *v1alpha1.ModelRegistry, what registry.Registration) (
	entry registry.Entry, connection *connections.Connection, err error,
) {
	ctx, span := tracing.Step(ctx, "register")
	defer func() { endCall(span, err) }()
	connection, err = p.Connections.Open(ctx, of, false)
	if err == nil {
		entry, err = connection.Register(ctx, client.ObjectKeyFromObject(p.model), what)
	}
	return entry, connection, err
}

// pending softens an outcome for an entry that stands: what only keeps it from being looked at, or from being changed, does
// not make it unregistered. Else a registry that is down would make every model unready that has to be registered.
func (p *pass) pending(status *aiv1.RegistryStatus, outcome conditions.Outcome) conditions.Outcome {
	if status == nil || !p.outcomeOf(aiv1.ConditionRegistered).IsTrue() {
		return outcome
	}
	switch outcome.Reason {
	case aiv1.ReasonConflict, aiv1.ReasonAdoptionRequired, aiv1.ReasonInvalid:
		return outcome
	}
	if name, ok := p.Settings.RegistryOf(p.model); !ok || p.Settings.Wanted(p.model, name).Key != status.Key {
		return outcome
	}
	return conditions.True(aiv1.ReasonUpdatePending, outcome.Message)
}

func (p *pass) services(ctx context.Context) ([]aiv1.InferenceService, error) {
	list := &aiv1.InferenceServiceList{}
	err := p.Client.List(ctx, list, client.InNamespace(p.model.Namespace), client.MatchingFields{index.ModelRef: p.model.Name})
	if err != nil {
		return nil, fmt.Errorf("list the services of the model: %w", err)
	}
	return list.Items, nil
}

// digestOf tells whether a registry would be asked for something else than last time.
func digestOf(what registry.Registration, of *v1alpha1.ModelRegistry) (string, error) {
	what.Known = nil
	encoded, err := json.Marshal([]any{what, of.UID, of.Generation})
	if err != nil {
		return "", fmt.Errorf("encode the registration: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), nil
}

// asProblem is the error of a registry, or of its Secret. Other errors come back as they are: the API server failed, and is tried again.
func asProblem(err error) (*registry.Error, error) {
	var typed *registry.Error
	switch {
	case errors.Is(err, connections.ErrSecretNotFound):
		return &registry.Error{Reason: registry.Unauthorized, Err: err}, nil
	case errors.Is(err, context.Canceled):
		return nil, err
	case errors.As(err, &typed):
		return registry.AsError(err), nil
	default:
		return nil, err
	}
}
