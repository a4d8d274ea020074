package serving

import (
	"context"
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/facts"
)

// diagnose finds out why the owner's pods are not up, unless they are. While the Deployment's status speaks of an earlier spec,
// so do its pods: what is wrong with them may be what was just changed.
func (p *Pipeline) diagnose(ctx context.Context, scope *Scope, state rolloutState) error {
	if state.settled || !state.current {
		return nil
	}
	known, err := p.facts.Pods(ctx, scope.Kind, scope.Owner.GetName(), scope.Deployment)
	if err != nil {
		return err
	}
	needs := diagnose.NeedsOf(known)
	p.facts.Complete(ctx, scope.Owner.GetNamespace(), &known, needs)
	scope.lookAgain(needs.Again)
	pods := diagnose.Diagnose(known)
	if scope.Inputs != nil && scope.Inputs.ReplaceInPlace {
		// An old pod makes room at this moment.
		pods = pods.Without(aiv1.ReasonRolloutBlocked)
	}
	scope.diagnosis.Findings = append(pods.Findings, scope.diagnosis.Findings...)
	return nil
}

const (
	autoscalerKind = "HorizontalPodAutoscaler"
	notReported    = "the autoscaler has not reported yet"
)

// observeAutoscaler reports whether the owner's autoscaler scales, in its own words.
func (p *Pipeline) observeAutoscaler(ctx context.Context, scope *Scope) error {
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{}
	found, err := p.child(ctx, scope, autoscaler)
	if err != nil {
		return fmt.Errorf("read HorizontalPodAutoscaler %q: %w", scope.ChildName, err)
	}
	if !found {
		if slices.ContainsFunc(scope.objects, func(object apply.Object) bool { return object.GVK.Kind == autoscalerKind }) {
			// It is created in a moment, or the cache has not seen it yet. Said now, this costs no write of its own.
			scope.Conditions.Scaling = conditions.Unknown(aiv1.ReasonScalingUnknown, notReported)
		}
		return nil
	}
	known := diagnose.Facts{Now: p.facts.Now(), Autoscaler: autoscaler}
	scope.diagnosis = diagnose.Diagnose(known)
	if finding := scope.diagnosis.Find(aiv1.ReasonScalingInactive); finding != nil {
		scope.Conditions.Scaling = conditions.False(finding.Reason, finding.Message)
		return nil
	}
	scope.lookAgain(diagnose.ScalingAgain(known))
	scope.Conditions.Scaling = conditions.Unknown(aiv1.ReasonScalingUnknown, notReported)
	for _, condition := range autoscaler.Status.Conditions {
		if condition.Type == autoscalingv2.ScalingActive && condition.Status == corev1.ConditionTrue {
			scope.Conditions.Scaling = conditions.True(aiv1.ReasonScalingActive, "")
		}
	}
	return nil
}

// cachesDiffer is how long the cache of pods may be behind that of Deployments.
const cachesDiffer = time.Second

// observePhases finds out, once a revision, how long its first pod took. By then status has to be written anyway.
func (p *Pipeline) observePhases(ctx context.Context, scope *Scope, state rolloutState) error {
	revision := facts.Revision(scope.Deployment)
	written := scope.Owner.GetServingStatus().Phases
	if revision == 0 || !state.current || state.ready == 0 || (written != nil && written.Revision == revision) {
		return nil
	}
	known, err := p.facts.Pods(ctx, scope.Kind, scope.Owner.GetName(), scope.Deployment)
	if err != nil {
		return err
	}
	if scope.phases = phasesOf(known); scope.phases != nil {
		scope.phases.Revision = revision
	} else if state.settled {
		scope.lookAgain(cachesDiffer)
	}
	return nil
}
