package registration

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// Actions of events.
const (
	actionRegister = "Register"
	actionCleanUp  = "CleanUp"
)

// record tells of a condition whose status or reason is not what it was.
func record(recorder events.EventRecorder, before, after *aiv1.AIModel) {
	for _, told := range []struct{ kind, action string }{
		{aiv1.ConditionRegistered, actionRegister}, {aiv1.ConditionCleanedUp, actionCleanUp},
	} {
		was := meta.FindStatusCondition(before.Status.Conditions, told.kind)
		is := meta.FindStatusCondition(after.Status.Conditions, told.kind)
		if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
			continue
		}
		// On the way to every registration.
		if is.Reason == aiv1.ReasonRegistering || is.Reason == aiv1.ReasonUpdatePending && (was == nil || was.Status == metav1.ConditionTrue) {
			continue
		}
		kind, note := corev1.EventTypeNormal, is.Message
		if is.Status != metav1.ConditionTrue {
			kind = corev1.EventTypeWarning
		}
		if note == "" {
			note = registeredNote(after.Status.Registry)
		}
		serving.Send(recorder, after, serving.Event{Type: kind, Reason: is.Reason, Action: told.action, Note: note})
	}
}

func registeredNote(status *aiv1.RegistryStatus) string {
	if status == nil || status.RegistryRef == nil {
		return "nothing is left to be done"
	}
	return "version " + status.ModelVersion + " of " + status.Name + " is registered in " + status.RegistryRef.Name
}

// givenUpEvent tells that entries stay in a registry that were to be taken out of it.
func givenUpEvent(recorder events.EventRecorder, model *aiv1.AIModel, left leftover) {
	serving.Send(recorder, model, serving.Event{
		Type: corev1.EventTypeWarning, Reason: left.ending.reason, Action: actionCleanUp,
		Note: left.ending.message + ": " + names(left.entries) + " stays as it is",
	})
}
