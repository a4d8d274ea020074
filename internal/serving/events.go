package serving

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
}

// Record sends the events of one pass: the transition of Ready, and the changes that a user would ask about.
func Record(recorder events.EventRecorder, owner Owner, before []metav1.Condition, scope *Scope) {
	if event := readyEvent(before, owner.GetConditions()); event != nil {
		send(recorder, owner, *event)
	}
	for _, change := range scope.changes {
		if event := changeEvent(change); event != nil {
			send(recorder, owner, *event)
		}
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
	case is.Status == metav1.ConditionFalse && is.Reason != aiv1.ReasonModelNotResolved:
		event.Type = corev1.EventTypeWarning
	}
	if event.Note == "" {
		event.Note = is.Reason
	}
	return event
}

// changeEvent tells of what the operator mended or took away. What it created or updated, the user asked for.
func changeEvent(change apply.Change) *Event {
	event := &Event{Type: corev1.EventTypeNormal, Reason: string(change.Action), Action: "Apply"}
	switch change.Action {
	case apply.Repaired:
		event.Note = change.Kind + " " + change.Name + " had been changed by somebody else and was put back"
	case apply.Deleted:
		event.Note = change.Kind + " " + change.Name + " is no longer needed and was deleted"
	default:
		return nil
	}
	return event
}

func send(recorder events.EventRecorder, owner Owner, event Event) {
	note := event.Note
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
	}
	recorder.Eventf(owner, nil, event.Type, event.Reason, event.Action, "%s", note)
}
