package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
	"github.com/aimodel-operator/aimodel-operator/internal/watches"
)

// waitPeriod is how long to wait, at the least, for a cure that no watch tells of: a Secret that appears, a quota that is
// raised, a foreign object that goes.
const waitPeriod = 15 * time.Second

// Run takes an owner through the steps: resolve, which is the kind's own, then render, apply and observe. It fills the
// scope, writes nothing to the owner, and says when to come back.
func (p *Pipeline) Run(ctx context.Context, scope *Scope, resolveStep Step) (ctrl.Result, error) {
	err := p.change(ctx, scope, resolveStep)
	observeErr := timed(ctx, scope, metrics.StepObserve, p.Observe)
	class, result, err := verdict(err)
	scope.wrong = class
	if err == nil && scope.again > 0 && (result.RequeueAfter == 0 || scope.again < result.RequeueAfter) {
		result.RequeueAfter = scope.again
	}
	if observeErr != nil {
		// An error is tried again by itself, and sooner.
		scope.wrong = metrics.Transient
		return ctrl.Result{}, errors.Join(err, observeErr)
	}
	return result, err
}

// change runs the steps that depend on one another.
func (p *Pipeline) change(ctx context.Context, scope *Scope, resolveStep Step) error {
	if err := timed(ctx, scope, metrics.StepResolve, resolveStep); err != nil {
		scope.Conditions.Resolved = unresolved(err)
		scope.Conditions.Applied = conditions.Unknown(aiv1.ReasonWaiting, "")
		return err
	}
	scope.Conditions.Resolved = conditions.True(aiv1.ReasonReferencesResolved, "")
	if scope.Paused() {
		scope.Conditions.Applied = conditions.Unknown(aiv1.ReasonPaused,
			fmt.Sprintf("the annotation %s keeps the operator from changing anything", aiv1.AnnotationPaused))
		return nil
	}
	if err := p.makeRoom(ctx, scope); err != nil {
		return err
	}
	if err := timed(ctx, scope, metrics.StepRender, p.Render); err != nil {
		return err
	}
	return timed(ctx, scope, metrics.StepApply, p.Apply)
}

// timed takes the time of a step, and traces it.
func timed(ctx context.Context, scope *Scope, name string, step Step) error {
	ctx, span := tracing.Step(ctx, name)
	start := time.Now()
	err := step(ctx, scope)
	metrics.ObserveStep(scope.Kind, name, time.Since(start))
	if errors.Is(err, errComeBack) {
		span.End(nil)
	} else {
		span.End(err)
	}
	return err
}

func unresolved(err error) conditions.Outcome {
	var problem *resolve.Problem
	if errors.As(err, &problem) {
		return conditions.False(problem.Reason, problem.Message)
	}
	return conditions.Unknown(aiv1.ReasonReadFailed, err.Error())
}

// terminalError is an error that only a change of the object, or of the operator, can cure.
type terminalError struct{ err error }

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// errComeBack ends a pass that is to be continued after a moment. Nothing is wrong.
var errComeBack = errors.New("to be continued")

// verdict sorts an error: terminal ones wait for a change of the object, waiting ones for a cure elsewhere, and transient
// ones are tried again with backoff. The class is empty when nothing is wrong.
func verdict(err error) (metrics.ErrorClass, ctrl.Result, error) {
	var problem *resolve.Problem
	var terminal *terminalError
	var terminating *apply.TerminatingError
	switch {
	case err == nil:
		return "", ctrl.Result{}, nil
	case errors.Is(err, errComeBack):
		return "", ctrl.Result{RequeueAfter: watches.Gather, Priority: new(watches.Behind)}, nil
	case errors.As(err, &terminal):
		return metrics.Terminal, ctrl.Result{}, nil
	case errors.As(err, &terminating):
		return metrics.Waiting, ctrl.Result{}, nil
	case errors.As(err, &problem):
		if problem.Terminal {
			return metrics.Terminal, ctrl.Result{}, nil
		}
		if problem.Wakes {
			return metrics.Waiting, ctrl.Result{}, nil
		}
	case apply.IsTransient(err):
		return metrics.Transient, ctrl.Result{}, err
	}
	return metrics.Waiting, ctrl.Result{RequeueAfter: wait.Jitter(waitPeriod, 0.5)}, nil
}

// PatchStatus writes status, once, if it differs from what was read.
func PatchStatus(ctx context.Context, writer client.Client, before, after Owner) error {
	patch := client.MergeFrom(before)
	if before.GetServingStatus().ObservedGeneration == 0 {
		// The first status is written whole, with its zeros: against an unset count they would be no difference.
		patch = wholeStatus{}
	}
	data, err := patch.Data(after)
	if err != nil {
		return fmt.Errorf("compare status: %w", err)
	}
	if string(data) == "{}" {
		return nil
	}
	if shared, ok := after.(interface{ StatusIsShared() bool }); ok && shared.StatusIsShared() {
		// The list of conditions is written as a whole, and must not undo what another controller wrote into it.
		if data, err = bound(data, before.GetResourceVersion()); err != nil {
			return err
		}
	}
	if err := writer.Status().Patch(ctx, after, client.RawPatch(types.MergePatchType, data)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch status: %w", err)
	}
	return nil
}

// bound makes a merge patch fail with a conflict if the object is not what was read any more.
func bound(data []byte, version string) ([]byte, error) {
	content := map[string]any{}
	if err := json.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("read the patch of status: %w", err)
	}
	content["metadata"] = map[string]any{"resourceVersion": version}
	return json.Marshal(content)
}

// wholeStatus is a merge patch of everything in status.
type wholeStatus struct{}

// Type is that of a merge patch.
func (wholeStatus) Type() types.PatchType { return types.MergePatchType }

// Data returns the patch.
func (wholeStatus) Data(object client.Object) ([]byte, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"status": content["status"]})
}
