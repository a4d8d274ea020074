// Package conditions sets the conditions of both kinds, and computes Ready from the others. It must not read anything but
// what it is given.
package conditions

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// Object is an object with conditions.
type Object interface {
	metav1.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// Outcome is the state of one condition. The zero Outcome is unknown.
type Outcome struct {
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// True makes an Outcome that is good.
func True(reason, message string) Outcome { return Outcome{metav1.ConditionTrue, reason, message} }

// False makes an Outcome that is not good.
func False(reason, message string) Outcome { return Outcome{metav1.ConditionFalse, reason, message} }

// Unknown makes an Outcome of which nobody knows.
func Unknown(reason, message string) Outcome {
	return Outcome{metav1.ConditionUnknown, reason, message}
}

// Of is the outcome that a condition of that type has in a list. It is the zero Outcome if there is none.
func Of(list []metav1.Condition, kind string) Outcome {
	found := meta.FindStatusCondition(list, kind)
	if found == nil {
		return Outcome{}
	}
	return Outcome{found.Status, found.Reason, found.Message}
}

// IsTrue says whether the outcome is good.
func (o Outcome) IsTrue() bool { return o.Status == metav1.ConditionTrue }

// Set holds the outcome of one pass, for every condition that the operator owns.
type Set struct {
	Resolved, Applied, Available, Progressing Outcome
	// Replicas is the state of all replicas that were asked for; it is not shown but decides Ready.
	Replicas Outcome
	// Scaling is the state of the autoscaler. Zero: there is none, and then the condition is not shown. It does not decide Ready.
	Scaling Outcome
	// Registered decides Ready too, unless it is the zero Outcome. Another controller writes its condition.
	Registered Outcome
}

// Write sets every owned condition on the object, and Ready from them. The time of a condition that did not change
// status is kept.
func Write(object Object, set Set) {
	list := append([]metav1.Condition(nil), object.GetConditions()...)
	write := func(kind string, outcome Outcome) {
		if outcome.Status == "" {
			outcome = Unknown(aiv1.ReasonNotObserved, "")
		}
		Put(&list, object.GetGeneration(), kind, outcome)
	}
	write(aiv1.ConditionReady, set.Ready())
	write(aiv1.ConditionResolved, set.Resolved)
	write(aiv1.ConditionApplied, set.Applied)
	write(aiv1.ConditionAvailable, set.Available)
	write(aiv1.ConditionProgressing, set.Progressing)
	Put(&list, object.GetGeneration(), aiv1.ConditionScalingActive, set.Scaling)
	object.SetConditions(list)
}

// Put sets one condition in a list, or takes it off where the outcome has no status.
func Put(list *[]metav1.Condition, generation int64, kind string, outcome Outcome) {
	if outcome.Status == "" {
		meta.RemoveStatusCondition(list, kind)
		return
	}
	meta.SetStatusCondition(list, metav1.Condition{
		Type:               kind,
		Status:             outcome.Status,
		Reason:             outcome.Reason,
		Message:            Bounded(outcome.Message),
		ObservedGeneration: generation,
	})
}

// maxMessage is less than the longest message that the API server takes. An error may quote a value of any length.
const maxMessage = 8 << 10

// Bounded cuts a message so that the API server takes it.
func Bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "..."
}

// Ready is the first of Resolved, Applied, Replicas and, where it counts, Registered that is not true, or Replicas when all are.
func (s Set) Ready() Outcome {
	for _, outcome := range []Outcome{s.Resolved, s.Applied, s.Replicas} {
		if !outcome.IsTrue() {
			return outcome
		}
	}
	if s.Registered.Status != "" && !s.Registered.IsTrue() {
		return s.Registered
	}
	return s.Replicas
}
