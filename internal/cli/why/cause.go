package why

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// maxWarnings is how many warnings of one object are told, the latest.
const maxWarnings = 3

func podPart(known diagnose.Facts, pod *corev1.Pod) *Part {
	part := &Part{Kind: "Pod", Name: pod.Name, uid: string(pod.UID), State: string(pod.Status.Phase), Health: Waiting}
	if pod.Spec.NodeName != "" {
		part.State += " on " + pod.Spec.NodeName
	}
	switch {
	case pod.DeletionTimestamp != nil:
		part.State += ", leaving"
	case isReady(pod):
		part.State, part.Health = part.State+", ready", Fine
	case pod.Status.Phase == corev1.PodFailed:
		part.State += ": " + pod.Status.Reason
		part.note(output.OneLine(pod.Status.Message))
	}
	if finding := diagnose.PodAmong(known, pod); finding != nil {
		part.Health, part.reason = Broken, finding.Reason
		part.State += ", " + finding.Reason
		part.note(finding.Message)
	}
	return part
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// events adds the latest warnings to the parts that they are about.
func (t *Teller) events(ctx context.Context, root *Part, namespace string) error {
	events := &corev1.EventList{}
	err := t.Reader.List(ctx, events, client.InNamespace(namespace))
	if apierrors.IsForbidden(err) {
		root.note("you may not list events in this namespace, so none are told")
		return nil
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(events.Items, func(a, b corev1.Event) int { return seen(&b).Compare(seen(&a)) })
	told := map[string]int{}
	for i := range events.Items {
		event := &events.Items[i]
		uid := string(event.InvolvedObject.UID)
		part := root.find(func(p *Part) bool { return p.uid == uid && uid != "" })
		if part == nil || event.Type != corev1.EventTypeWarning || told[uid] == maxWarnings || saysTheSame(part, event) {
			continue
		}
		told[uid]++
		ago := output.Age(t.Now(), seen(event))
		times := ""
		if count := repeats(event); count > 1 {
			times = fmt.Sprintf(", %d times", count)
		}
		part.note(fmt.Sprintf("event %s, %s ago%s: %s", event.Reason, ago, times, output.OneLine(event.Message)))
	}
	return nil
}

// saysTheSame leaves out an event that repeats what the part says already: conditions have the operator's own words, and what
// diagnosis found has those of the scheduler and of the kubelet.
func saysTheSame(part *Part, event *corev1.Event) bool {
	if event.Source.Component == aiv1.ManagedBy || event.ReportingController == aiv1.ManagedBy {
		return true
	}
	if part.Kind == "Pod" && part.reason != "" && slices.Contains([]string{"Failed", "BackOff", "FailedScheduling"}, event.Reason) {
		return true
	}
	message := output.OneLine(event.Message)
	return slices.ContainsFunc(part.Notes, func(note string) bool { return strings.Contains(note, message) })
}

func seen(event *corev1.Event) time.Time {
	switch {
	case event.Series != nil:
		return event.Series.LastObservedTime.Time
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp.Time
	case !event.EventTime.IsZero():
		return event.EventTime.Time
	}
	return event.CreationTimestamp.Time
}

func repeats(event *corev1.Event) int32 {
	if event.Series != nil {
		return event.Series.Count
	}
	return event.Count
}

// markCause marks the part that keeps the object from being ready, and takes the advice for it. Where nothing does, the advice is
// for what is wrong all the same.
func markCause(story *Story, failure *aiv1.Failure) {
	if story.Ready == string(metav1.ConditionTrue) {
		adviseAnyway(story)
		return
	}
	reason, about := story.Reason, aiv1.FailureObject{}
	if failure != nil && failure.Object != nil {
		about = *failure.Object
	}
	if now := seenNow(story); now != nil {
		if now.Reason != reason {
			story.Tree.note(seenNote(now))
		}
		reason, about.Kind, about.Name = now.Reason, now.Object.Kind, now.Object.Name
	}
	cause := findCause(story.Tree, reason, about)
	cause.Cause = true
	if cause.Health != Waiting || cause.Kind == "Pod" {
		cause.Health = Broken
	}
	if reason == aiv1.ReasonModelNotResolved && cause.reason != "" {
		reason = cause.reason
	}
	advise(story, reason)
}

// adviseAnyway tells what a look just now finds wrong though the object is ready.
func adviseAnyway(story *Story) {
	if len(story.Found) == 0 {
		return
	}
	now := &story.Found[0]
	if !slices.ContainsFunc(story.Tree.Notes, func(note string) bool { return strings.Contains(note, now.Message) }) {
		story.Tree.note(seenNote(now))
	}
	advise(story, now.Reason)
}

func seenNote(now *diagnose.Finding) string {
	return fmt.Sprintf("seen just now: %s: %s", now.Reason, now.Message)
}

// findCause gives the part that a reason is about.
func findCause(root *Part, reason string, about aiv1.FailureObject) *Part {
	for _, matches := range []func(*Part) bool{
		// A reference that lacks what the reason says. The deepest one is the cause: a Secret rather than its model.
		func(p *Part) bool { return p.Kind == "Secret" && p.reason != "" && isReference(reason) },
		func(p *Part) bool {
			return p.Kind == "AIModel" && p != root && p.reason != "" && isReference(reason)
		},
		func(p *Part) bool { return p.foreign && reason == aiv1.ReasonConflict },
		func(p *Part) bool { return p.Kind == about.Kind && p.Name == about.Name && p.Kind != "Deployment" },
		func(p *Part) bool { return p.Kind == "PersistentVolumeClaim" && p.reason == reason },
		func(p *Part) bool { return p.Kind == "Pod" && p.reason == reason },
		func(p *Part) bool { return p.Kind == "ReplicaSet" && p.reason != "" },
		func(p *Part) bool { return p.Kind == "Pod" && p.reason != "" },
		// What is known of pods from their events only is told of the first that is not up.
		func(p *Part) bool { return p.Kind == "Pod" && p.Health != Fine && about.Kind == "Deployment" },
		func(p *Part) bool { return p.Kind == about.Kind && p.Name == about.Name },
	} {
		if found := root.find(matches); found != nil {
			return found
		}
	}
	return root
}

// isReference says whether a reason of Ready is about what an object refers to.
func isReference(reason string) bool {
	switch reason {
	case aiv1.ReasonModelNotFound, aiv1.ReasonModelNotResolved,
		aiv1.ReasonSecretNotFound, aiv1.ReasonSecretNamespace, aiv1.ReasonSecretForbidden:
		return true
	}
	return false
}
