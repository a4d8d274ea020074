package serving

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/values"
)

// Observe reads what became of the children. It runs on every pass, whatever went wrong before.
func (p *Pipeline) Observe(ctx context.Context, scope *Scope) error {
	if err := p.observeDeployment(ctx, scope); err != nil {
		return err
	}
	if err := p.observeService(ctx, scope); err != nil {
		return err
	}
	if err := p.observeAutoscaler(ctx, scope); err != nil {
		return err
	}
	if scope.Deployment == nil {
		observeNothing(scope)
		return nil
	}
	state := rollout(scope)
	if err := p.diagnose(ctx, scope, state); err != nil {
		return err
	}
	state.report(&scope.Conditions, scope.diagnosis.Primary())
	return p.observePhases(ctx, scope, state)
}

// observeDeployment finds the live Deployment. One that is not the owner's is none.
func (p *Pipeline) observeDeployment(ctx context.Context, scope *Scope) error {
	deployment := &appsv1.Deployment{}
	found, err := p.child(ctx, scope, deployment)
	if err != nil {
		return fmt.Errorf("read Deployment %q: %w", scope.ChildName, err)
	}
	if found {
		scope.Deployment = deployment
	}
	return nil
}

func (p *Pipeline) observeService(ctx context.Context, scope *Scope) error {
	found, err := p.child(ctx, scope, &corev1.Service{})
	if err != nil {
		return fmt.Errorf("read Service %q: %w", scope.ChildName, err)
	}
	scope.URLKnown = scope.Inputs != nil || scope.applied
	// The cache may not have seen a Service that was created a moment ago.
	created := scope.applied && len(scope.objects) > 0
	if scope.Inputs != nil && (found || created) {
		scope.URL = fmt.Sprintf("http://%s.%s.svc.cluster.local:80%s",
			scope.ChildName, scope.Owner.GetNamespace(), values.Path(*scope.Inputs))
	}
	return nil
}

// child reads a child of the owner and says whether there is one.
func (p *Pipeline) child(ctx context.Context, scope *Scope, into client.Object) (bool, error) {
	key := types.NamespacedName{Namespace: scope.Owner.GetNamespace(), Name: scope.ChildName}
	err := p.reader.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && metav1.IsControlledBy(into, scope.Owner), err
}

// observeNothing reports on an owner without a Deployment.
func observeNothing(scope *Scope) {
	set := &scope.Conditions
	if scope.Inputs == nil && scope.Idle.Status != "" {
		set.Available = conditions.False(scope.Idle.Reason, scope.Idle.Message)
		set.Progressing = conditions.False(scope.Idle.Reason, scope.Idle.Message)
		set.Replicas = scope.Idle
		return
	}
	missing := conditions.False(aiv1.ReasonNoReplicaAvailable, "no replica has been started yet")
	set.Available, set.Replicas = missing, missing
	if scope.applied {
		set.Progressing = conditions.True(aiv1.ReasonRollingOut, missing.Message)
		set.Replicas = conditions.False(aiv1.ReasonRollingOut, missing.Message)
		return
	}
	set.Progressing = conditions.False(aiv1.ReasonNoReplicaAvailable, missing.Message)
}

// rolloutState is how far the Deployment is from what was asked for.
type rolloutState struct {
	want, total, updated, ready, available int32
	// current is true when the Deployment's status speaks of what was applied last.
	current bool
	// settled is true when every replica that was asked for, and no other, is there and available.
	settled bool
}

func rollout(scope *Scope) rolloutState {
	deployment := scope.Deployment
	status := deployment.Status
	state := rolloutState{
		want:      ptr.Deref(deployment.Spec.Replicas, 1),
		total:     status.Replicas,
		updated:   status.UpdatedReplicas,
		ready:     status.ReadyReplicas,
		available: status.AvailableReplicas,
		current:   status.ObservedGeneration >= deployment.Generation && scope.isLatest(deployment),
	}
	state.settled = state.current && state.total == state.want && state.updated == state.want &&
		state.ready == state.want && state.available == state.want
	return state
}

// isLatest says whether the cached Deployment is the one that this pass applied, or found as it should be.
func (s *Scope) isLatest(deployment *appsv1.Deployment) bool {
	for _, change := range s.changes {
		if change.Kind == "Deployment" {
			return false
		}
	}
	for i := range s.objects {
		if s.objects[i].GVK.Kind == "Deployment" {
			return apply.IsLatest(deployment, s.objects[i])
		}
	}
	// Nothing was rendered on this pass; Applied tells why, and Ready repeats that.
	return true
}

// report sets the conditions. Trouble is what keeps the pods from being up, if anything does.
func (s rolloutState) report(set *conditions.Set, trouble *diagnose.Finding) {
	progress := fmt.Sprintf("%d of %d replicas are available", s.available, s.want)
	switch {
	case s.settled && s.want == 0:
		zero := "no replica is asked for"
		set.Available = conditions.False(aiv1.ReasonScaledToZero, zero)
		set.Progressing = conditions.False(aiv1.ReasonStable, "")
		set.Replicas = conditions.True(aiv1.ReasonScaledToZero, zero)
		return
	case s.settled:
		set.Progressing = conditions.False(aiv1.ReasonStable, "")
		set.Replicas = conditions.True(aiv1.ReasonReady, progress)
	case trouble != nil:
		set.Progressing = conditions.False(trouble.Reason, trouble.Message)
		set.Replicas = conditions.False(trouble.Reason, trouble.Message)
	default:
		reason := aiv1.ReasonScaling
		if !s.current || s.updated < s.total || s.available == 0 {
			reason = aiv1.ReasonRollingOut
		}
		set.Progressing = conditions.True(reason, progress)
		set.Replicas = conditions.False(reason, progress)
	}
	switch {
	case s.available > 0:
		set.Available = conditions.True(aiv1.ReasonReplicasAvailable, progress)
	case trouble != nil:
		set.Available = conditions.False(trouble.Reason, trouble.Message)
	default:
		set.Available = conditions.False(aiv1.ReasonNoReplicaAvailable, progress)
	}
}
