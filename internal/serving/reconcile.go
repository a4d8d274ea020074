package serving

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

// Kind is what is particular to one kind of owner.
type Kind[T Owner] struct {
	// Name is the kind's name.
	Name string
	// New makes an empty object.
	New func() T
	// ChildName gives the name of every child that the owner of that name can have.
	ChildName func(owner string) string
	// Resolve follows the references of the owner, into the scope.
	Resolve func(ctx context.Context, owner T, scope *Scope) error
	// WriteStatus computes the owner's status from the scope, in memory.
	WriteStatus func(owner T, scope *Scope)
}

// conflictPause lets the cache see what somebody else wrote.
const conflictPause = 100 * time.Millisecond

// release deletes the children of an owner that is being deleted and that a finalizer keeps. Without one, they go with their owner
// references. What waits for a registry, perhaps for long, shall not hold accelerators meanwhile.
func (p *Pipeline) release(ctx context.Context, owner Owner, childName string) error {
	if !controllerutil.ContainsFinalizer(owner, aiv1.FinalizerRegistryCleanup) {
		return nil
	}
	// The pass that created them may have ended before it could record them.
	unlisted, err := p.applier.Owned(ctx, owner, childName)
	if err != nil {
		return err
	}
	_, err = p.applier.Prune(ctx, owner, slices.Concat(owner.GetServingStatus().Inventory, unlisted), nil)
	return err
}

// Reconcile takes one owner through a pass: get, the steps, status, events. Status is written on every path.
func Reconcile[T Owner](
	ctx context.Context, p *Pipeline, recorder events.EventRecorder, kind Kind[T], request ctrl.Request,
) (result ctrl.Result, err error) {
	ctx, span := tracing.Reconcile(ctx, kind.Name, request.NamespacedName)
	defer func() { span.End(err) }()
	owner := kind.New()
	if err := p.reader.Get(ctx, request.NamespacedName, owner); apierrors.IsNotFound(err) {
		span.Outcome(tracing.OutcomeGone)
		p.Forget(kind.Name, request.NamespacedName)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	if !owner.GetDeletionTimestamp().IsZero() {
		span.Outcome(tracing.OutcomeDeleted)
		return ctrl.Result{}, p.release(ctx, owner, kind.ChildName(owner.GetName()))
	}
	before, ok := owner.DeepCopyObject().(Owner)
	if !ok {
		return ctrl.Result{}, fmt.Errorf("the copy of a %T is none", owner)
	}
	scope := &Scope{Owner: owner, Kind: kind.Name, ChildName: kind.ChildName(owner.GetName())}
	result, err = p.Run(ctx, scope, func(ctx context.Context, scope *Scope) error { return kind.Resolve(ctx, owner, scope) })
	if scope.unfinished && err == nil {
		span.Outcome(tracing.OutcomeContinued)
		return result, nil
	}
	patchErr := timed(ctx, scope, metrics.StepStatus, func(ctx context.Context, scope *Scope) error {
		kind.WriteStatus(owner, scope)
		return PatchStatus(ctx, p.reader, before, owner)
	})
	if apierrors.IsConflict(patchErr) {
		// Somebody else wrote to the object since it was read. Nothing is wrong; the next pass sees what.
		span.Outcome(tracing.OutcomeOvertaken)
		return ctrl.Result{RequeueAfter: conflictPause}, nil
	}
	if patchErr != nil {
		scope.wrong = metrics.Transient
	}
	tell(span, scope)
	if patchErr != nil {
		return ctrl.Result{}, patchErr
	}
	Record(recorder, owner, before.GetConditions(), scope)
	return result, err
}

// tell says in metrics and in the trace how a pass went.
func tell(span tracing.Span, scope *Scope) {
	if ready := meta.FindStatusCondition(scope.Owner.GetConditions(), aiv1.ConditionReady); ready != nil {
		span.Ready(string(ready.Status), ready.Reason)
	}
	if scope.wrong == "" {
		span.Outcome(tracing.OutcomeOK)
		return
	}
	span.Outcome(string(scope.wrong))
	metrics.CountError(scope.Kind, scope.wrong)
}
