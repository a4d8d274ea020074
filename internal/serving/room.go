package serving

import (
	"context"

	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// makeRoom keeps the rollout of a single replica from waiting for ever for a second set of accelerators.
//
// Such a rollout starts the new pod first, so that nothing is lost where an accelerator is spare. Where none is, the
// scheduler says so about the new pod, and the Deployment holds one pod more than was asked for. Only then the old pod
// makes room. Once it has, the surplus is gone and the Deployment goes back to what it was.
func (p *Pipeline) makeRoom(ctx context.Context, scope *Scope) error {
	if scope.Inputs == nil || scope.Inputs.Accelerator == nil {
		return nil
	}
	if err := p.observeDeployment(ctx, scope); err != nil || scope.Deployment == nil {
		return err
	}
	status := scope.Deployment.Status
	if status.Replicas <= ptr.Deref(scope.Deployment.Spec.Replicas, 1) || status.UpdatedReplicas >= status.Replicas {
		return nil
	}
	known, err := p.facts.Pods(ctx, scope.Kind, scope.Owner.GetName(), scope.Deployment)
	if err != nil {
		return err
	}
	finding := diagnose.Diagnose(known).Primary()
	if finding == nil || (finding.Reason != aiv1.ReasonUnschedulable && finding.Reason != aiv1.ReasonRolloutBlocked) {
		return nil
	}
	// To stop what serves for a pod that fits nowhere would leave nothing.
	p.facts.Complete(ctx, scope.Owner.GetNamespace(), &known, diagnose.Needs{Nodes: true})
	scope.Inputs.ReplaceInPlace = !diagnose.Hopeless(known)
	return nil
}
