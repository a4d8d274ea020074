package why

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/facts"
)

// maxAsked is for how many pods events are asked for. Whoever looks does not want to wait, as the operator does, until something
// has lasted.
const maxAsked = 10

// diagnose looks at the pods of a Deployment as the operator does, just now, with the permissions of whoever asks. It also finds
// out what is free on the nodes, which the operator leaves out because it never stays the same.
func (t *Teller) diagnose(
	ctx context.Context, story *Story, object access.Object, deployment *appsv1.Deployment, revision string, pods []corev1.Pod,
) diagnose.Facts {
	known := diagnose.Facts{Now: t.Now(), Deployment: deployment, Revision: revision, Pods: pods}
	needs := diagnose.NeedsOf(known)
	for i := range pods {
		if len(needs.EventsOf) < maxAsked && !isReady(&pods[i]) && !slices.Contains(needs.EventsOf, pods[i].UID) {
			needs.EventsOf = append(needs.EventsOf, pods[i].UID)
		}
	}
	needs.Jobs = story.Ready != string(metav1.ConditionTrue) && len(known.ClaimNames()) > 0
	gatherer := facts.New(t.Reader, t.Reader)
	gatherer.Now = t.Now
	gatherer.Complete(ctx, deployment.Namespace, &known, needs)
	if needs.Nodes && known.Nodes == nil {
		story.Tree.note("you may not list nodes, so what they have is not told")
	}
	switch err := gatherer.Usage(ctx, &known); {
	case apierrors.IsForbidden(err):
		story.Tree.note("you may not list the pods of all namespaces, so what is free on the nodes is not told")
	case err != nil:
		story.Tree.note("what is free on the nodes is not known: " + err.Error())
	}
	found := diagnose.Diagnose(known)
	if meta.IsStatusConditionTrue(object.GetConditions(), aiv1.ConditionProgressing) {
		// An old pod makes room at this moment, or has just done so.
		found = found.Without(aiv1.ReasonRolloutBlocked)
	}
	// As in status: what is wrong with the pods tells more than what is wrong with the autoscaler.
	story.Found = append(found.Findings, story.Found...)
	return known
}

// autoscaler tells of a HorizontalPodAutoscaler, and finds out as the operator does whether it does not scale.
func (t *Teller) autoscaler(ctx context.Context, story *Story, part *Part, key client.ObjectKey) error {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := t.Reader.Get(ctx, key, hpa); err != nil {
		return client.IgnoreNotFound(err)
	}
	part.State = fmt.Sprintf("wants %d, between %d and %d", hpa.Status.DesiredReplicas, deref(hpa.Spec.MinReplicas), hpa.Spec.MaxReplicas)
	found := diagnose.Diagnose(diagnose.Facts{Now: t.Now(), Autoscaler: hpa})
	story.Found = append(story.Found, found.Findings...)
	for _, finding := range found.Findings {
		part.Health, part.reason = Broken, finding.Reason
		part.State += ", " + finding.Reason
	}
	for _, condition := range hpa.Status.Conditions {
		if condition.Status == corev1.ConditionFalse && condition.Type != autoscalingv2.ScalingLimited {
			if part.Health == Fine {
				part.Health = Waiting
			}
			part.note(fmt.Sprintf("%s: %s", condition.Reason, condition.Message))
		}
	}
	return nil
}

// seenNow is what keeps the pods from being up, as they are now. It is nil when nothing does, or when the operator has not even
// got as far as pods: then those that there are belong to an earlier state.
func seenNow(story *Story) *diagnose.Finding {
	if entry, known := diagnose.Lookup(story.Reason); known && entry.Example == "" {
		return nil
	}
	return diagnose.Result{Findings: story.Found}.Primary()
}

// budget tells of a PodDisruptionBudget. It never keeps a model from coming up, for it holds back evictions and neither starts nor
// rollouts; but it may hold up the drain of a node for ever, and nobody else tells who does.
func (t *Teller) budget(ctx context.Context, part *Part, key client.ObjectKey) error {
	budget := &policyv1.PodDisruptionBudget{}
	if err := t.Reader.Get(ctx, key, budget); err != nil {
		return client.IgnoreNotFound(err)
	}
	status := budget.Status
	if status.ObservedGeneration < budget.Generation {
		part.State = "not counted yet"
		return nil
	}
	part.State = fmt.Sprintf("lets %d be evicted, %d of %d healthy", status.DisruptionsAllowed, status.CurrentHealthy, status.ExpectedPods)
	failed := meta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
	switch {
	case failed != nil && failed.Reason == policyv1.SyncFailedReason:
		part.Health = Waiting
		part.note("no replica can be evicted: " + failed.Message)
	case status.ExpectedPods > 0 && status.DesiredHealthy >= status.ExpectedPods:
		part.note("it lets no replica be evicted even while all are healthy, so the drain of a node that has one never ends: " +
			"ask for more replicas, or let one be missing in spec.disruption")
	case status.DisruptionsAllowed == 0 && status.CurrentHealthy <= status.DesiredHealthy && status.ExpectedPods > 0:
		part.note("the drain of a node that has a replica waits until more of them are healthy")
	}
	return nil
}
