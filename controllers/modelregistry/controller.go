// Package modelregistry looks after ModelRegistries: it checks in the background whether they answer, counts who uses them and
// keeps them until nobody does. It registers nothing.
package modelregistry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

const (
	// soonest is how often a registry that does not answer is checked, as a part of the usual interval.
	soonest = 4
	// checkTimeout bounds a check, so that registries that hang do not hold up the others for long.
	checkTimeout = 10 * time.Second
	// maxNamed users are named in a message.
	maxNamed = 10
)

// Reconciler looks after ModelRegistries.
type Reconciler struct {
	// Client reads from the cache.
	Client      client.Client
	Connections *connections.Connections
	Settings    registration.Settings
	// Interval is how often a registry is checked.
	Interval time.Duration

	mu     sync.Mutex
	checks map[types.NamespacedName]check
}

// check is the last one of a registry.
type check struct {
	uid        types.UID
	generation int64
	next       time.Time
	err        error
}

// +kubebuilder:rbac:groups=ai.example.com,resources=modelregistries,verbs=list;patch;watch
// +kubebuilder:rbac:groups=ai.example.com,resources=modelregistries/status,verbs=patch

// Reconcile brings the finalizer and the status of one ModelRegistry up to date, and checks the registry when it is time to.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (result ctrl.Result, err error) {
	ctx, span := tracing.Reconcile(ctx, "ModelRegistry", request.NamespacedName)
	defer func() { span.End(err) }()
	users, err := r.users(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	of := &v1alpha1.ModelRegistry{}
	if err := r.Client.Get(ctx, request.NamespacedName, of); apierrors.IsNotFound(err) {
		if len(users) == 0 {
			r.Connections.Forget(request.NamespacedName)
		}
		r.forget(request.NamespacedName)
		span.Outcome(tracing.OutcomeGone)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	done, err := r.protect(ctx, of, len(users))
	if done || err != nil {
		return again(span, err)
	}
	last := r.check(ctx, of)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err()
	}
	before := of.DeepCopy()
	writeStatus(of, last.err, users)
	if err := r.patchStatus(ctx, before, of); err != nil {
		return again(span, err)
	}
	tell(span, of)
	return ctrl.Result{RequeueAfter: max(time.Until(last.next), time.Second)}, nil
}

// again tries what met a change of the object once more, without calling it an error.
func again(span tracing.Span, err error) (ctrl.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		span.Outcome(tracing.OutcomeOvertaken)
		return ctrl.Result{RequeueAfter: time.Second / 10}, nil
	case client.IgnoreNotFound(err) != nil:
		span.Outcome(string(metrics.Transient))
		return ctrl.Result{}, err
	default:
		span.Outcome(tracing.OutcomeDeleted)
		return ctrl.Result{}, nil
	}
}

// tell says in the trace how it is with the registry.
func tell(span tracing.Span, of *v1alpha1.ModelRegistry) {
	ready := conditions.Of(of.Status.Conditions, v1alpha1.ConditionReady)
	span.Ready(string(ready.Status), ready.Reason)
	if ready.IsTrue() && of.DeletionTimestamp.IsZero() {
		span.Outcome(tracing.OutcomeOK)
	} else {
		span.Outcome(string(metrics.Waiting))
	}
}

// protect keeps the ModelRegistry while it is used, and lets one go that is not. It returns true for one that goes.
func (r *Reconciler) protect(ctx context.Context, of *v1alpha1.ModelRegistry, users int) (bool, error) {
	before := of.DeepCopy()
	going := !of.DeletionTimestamp.IsZero()
	changed := false
	switch {
	case going && users == 0:
		changed = controllerutil.RemoveFinalizer(of, v1alpha1.FinalizerInUse)
	case !going && users > 0:
		// Before the first entry is made: only then is it there when entries have to be cleaned up.
		changed = controllerutil.AddFinalizer(of, v1alpha1.FinalizerInUse)
	}
	if changed {
		ctx, span := tracing.Step(ctx, "finalizer")
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := r.Client.Patch(ctx, of, patch)
		span.End(err)
		if err != nil {
			return false, fmt.Errorf("patch the finalizers: %w", err)
		}
	}
	return going && users == 0, nil
}

// check asks the registry whether it can be used, unless it did a short while ago.
func (r *Reconciler) check(ctx context.Context, of *v1alpha1.ModelRegistry) check {
	name := client.ObjectKeyFromObject(of)
	r.mu.Lock()
	last, ok := r.checks[name]
	r.mu.Unlock()
	if ok && last.uid == of.UID && last.generation == of.Generation && time.Now().Before(last.next) {
		return last
	}
	ctx, span := tracing.Step(ctx, "check")
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	connection, err := r.Connections.Open(ctx, of, !of.DeletionTimestamp.IsZero())
	if err == nil {
		err = connection.Check(ctx)
	}
	span.End(err)
	pause := r.Interval
	if err != nil {
		pause /= soonest
	}
	last = check{uid: of.UID, generation: of.Generation, err: err, next: time.Now().Add(wait.Jitter(pause, 0.2))}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checks == nil {
		r.checks = map[types.NamespacedName]check{}
	}
	r.checks[name] = last
	return last
}

func (r *Reconciler) forget(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.checks, name)
}

// users lists the names of the models that use a registry, sorted, as namespace/name.
func (r *Reconciler) users(ctx context.Context, name types.NamespacedName) ([]string, error) {
	list := &aiv1.AIModelList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{index.Registry: name.String()}); err != nil {
		return nil, fmt.Errorf("list the users of the registry: %w", err)
	}
	var users []string
	for i := range list.Items {
		users = append(users, client.ObjectKeyFromObject(&list.Items[i]).String())
	}
	slices.Sort(users)
	return users, nil
}

// inUse names the users, or some of them.
func inUse(users []string) string {
	text := fmt.Sprintf("%d AIModels use it: ", len(users))
	if len(users) == 1 {
		text = "1 AIModel uses it: "
	}
	named := users[:min(len(users), maxNamed)]
	text += strings.Join(named, ", ")
	if rest := len(users) - len(named); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}
