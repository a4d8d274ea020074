package diagnose

import (
	"regexp"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// podName is the name of a pod that was never made, which differs with every try.
var podName = regexp.MustCompile(`(pods|Pod) "[^"]*" is (forbidden|invalid): `)

// refusals tells who refused pods by the words of the refusal. The first match counts.
var refusals = []struct {
	reason string
	words  *regexp.Regexp
}{
	{aiv1.ReasonQuotaExceeded, regexp.MustCompile(`exceeded quota|failed quota`)},
	{aiv1.ReasonPodSecurity, regexp.MustCompile(`violates PodSecurity`)},
	{aiv1.ReasonAdmissionRefused, regexp.MustCompile(
		`admission webhook|failed calling webhook|ValidatingAdmissionPolicy|MutatingAdmissionPolicy`)},
}

// podsRefused makes a detector of pods that the API server refuses to create for that reason; for ReasonPodsRefused, for any
// other.
func podsRefused(reason string) func(*Facts) *Finding {
	return func(f *Facts) *Finding {
		if f.Deployment == nil {
			return nil
		}
		for _, condition := range f.Deployment.Status.Conditions {
			if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue &&
				refusal(condition.Message) == reason {
				return &Finding{Reason: reason, Message: "pods are refused: " + stable(podName.ReplaceAllString(condition.Message, ""))}
			}
		}
		return nil
	}
}

func refusal(message string) string {
	for _, known := range refusals {
		if known.words.MatchString(message) {
			return known.reason
		}
	}
	return aiv1.ReasonPodsRefused
}

// overdue tells of a rollout that the Deployment controller gave up.
func overdue(f *Facts) *Finding {
	if f.Deployment == nil {
		return nil
	}
	for _, condition := range f.Deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse &&
			condition.Reason == "ProgressDeadlineExceeded" {
			return &Finding{Reason: aiv1.ReasonProgressDeadlineExceeded, Message: "the rollout made no progress within its deadline"}
		}
	}
	return nil
}

// scalingPatience is how long an autoscaler may go without metrics: a start takes that long where the model is large.
const scalingPatience = 5 * time.Minute

// scalingInactive tells what the autoscaler says of itself, once that has lasted.
func scalingInactive(f *Facts) *Finding {
	condition := scalingTrouble(f.Autoscaler)
	if condition == nil || !f.lasted(condition.LastTransitionTime.Time, scalingPatience) {
		return nil
	}
	return &Finding{
		Reason:  aiv1.ReasonScalingInactive,
		Message: "the autoscaler does not scale (" + condition.Reason + "): " + stable(condition.Message),
		Object:  Object{"HorizontalPodAutoscaler", f.Autoscaler.Name},
	}
}

// ScalingAgain is when to look again at an autoscaler that has no metrics yet. Zero: never.
func ScalingAgain(facts Facts) time.Duration {
	condition := scalingTrouble(facts.Autoscaler)
	if condition == nil || facts.lasted(condition.LastTransitionTime.Time, scalingPatience) {
		return 0
	}
	return scalingPatience - facts.Now.Sub(condition.LastTransitionTime.Time) + time.Second
}

func scalingTrouble(autoscaler *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscalerCondition {
	if autoscaler == nil {
		return nil
	}
	for i := range autoscaler.Status.Conditions {
		condition := &autoscaler.Status.Conditions[i]
		about := condition.Type == autoscalingv2.ScalingActive || condition.Type == autoscalingv2.AbleToScale
		// An autoscaler of an object that was scaled to zero by hand rests, and says so.
		if about && condition.Status == corev1.ConditionFalse && condition.Reason != "ScalingDisabled" {
			return condition
		}
	}
	return nil
}
