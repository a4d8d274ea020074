package serving

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
)

// maxNote is the longest note that the API server takes.
const maxNote = 1024

// Event is what `kubectl describe` shows of a transition.
type Event struct {
	Type, Reason, Action, Note string
}

// onTheWay are the reasons of a Ready condition that every start and every scaling passes through. They are events only
// when something that was ready leaves that state.
var onTheWay = map[string]bool{
	aiv1.ReasonRollingOut:         true,
	aiv1.ReasonScaling:            true,
	aiv1.ReasonNoReplicaAvailable: true,
	aiv1.ReasonNotObserved:        true,
	aiv1.ReasonApplying:           true,
	aiv1.ReasonModelNotObserved:   true,
}

// Record tells of one pass whose status was written: it sends the transition of Ready, and the changes that a user would ask
// about, as events, and adds the phases of a start to the metrics.
func Record(recorder events.EventRecorder, owner Owner, before []metav1.Condition, scope *Scope) {
	if event := readyEvent(before, owner.GetConditions()); event != nil {
		Send(recorder, owner, *event)
	}
	if event := scalingEvent(before, owner.GetConditions()); event != nil {
		Send(recorder, owner, *event)
	}
	if scope.phases != nil {
		observe(scope.Kind, scope.phases)
	}
	for _, event := range changeEvents(scope.changes) {
		Send(recorder, owner, event)
	}
}

// readyEvent tells of a Ready condition whose status or reason is not what it was.
func readyEvent(before, after []metav1.Condition) *Event {
	was, is := meta.FindStatusCondition(before, aiv1.ConditionReady), meta.FindStatusCondition(after, aiv1.ConditionReady)
	if is == nil || (was != nil && was.Status == is.Status && was.Reason == is.Reason) {
		return nil
	}
	wasReady := was != nil && was.Status == metav1.ConditionTrue
	event := &Event{Type: corev1.EventTypeNormal, Reason: is.Reason, Action: "Reconcile", Note: is.Message}
	switch {
	case is.Status == metav1.ConditionTrue:
	case onTheWay[is.Reason]:
		if !wasReady {
			return nil
		}
	case is.Status == metav1.ConditionFalse:
		event.Type = corev1.EventTypeWarning
	}
	if event.Note == "" {
		event.Note = is.Reason
	}
	return event
}

// scalingEvent tells of an autoscaler that stopped to scale, or that scales again.
func scalingEvent(before, after []metav1.Condition) *Event {
	stopped := meta.IsStatusConditionFalse(before, aiv1.ConditionScalingActive)
	is := meta.FindStatusCondition(after, aiv1.ConditionScalingActive)
	switch {
	case is == nil:
		return nil
	case is.Status == metav1.ConditionFalse && !stopped:
		return &Event{corev1.EventTypeWarning, is.Reason, "Reconcile", is.Message}
	case is.Status == metav1.ConditionTrue && stopped:
		return &Event{corev1.EventTypeNormal, is.Reason, "Reconcile", "the autoscaler scales again"}
	}
	return nil
}

// changeEvents tells of what the operator mended or took away, all of one kind of change in one event: several events of
// one reason would count as one that repeats. What the operator created or updated, the user asked for.
func changeEvents(changes []apply.Change) []Event {
	var all []Event
	for _, told := range []struct {
		action    apply.Action
		one, many string
	}{
		{apply.Repaired, " had been changed by somebody else and was put back", " had been changed by somebody else and were put back"},
		{apply.Deleted, " is no longer needed and was deleted", " are no longer needed and were deleted"},
	} {
		var names []string
		for _, change := range changes {
			if change.Action == told.action {
				names = append(names, change.Kind+" "+change.Name)
			}
		}
		end := told.one
		if len(names) > 1 {
			end = told.many
		}
		if len(names) > 0 {
			all = append(all, Event{corev1.EventTypeNormal, string(told.action), "Apply", strings.Join(names, ", ") + end})
		}
	}
	return all
}

// Send sends an event about an object, with no more of its note than the API server takes.
func Send(recorder events.EventRecorder, about runtime.Object, event Event) {
	note := event.Note
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
	}
	recorder.Eventf(about, nil, event.Type, event.Reason, event.Action, "%s", note)
}
