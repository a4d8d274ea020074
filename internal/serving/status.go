package serving

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// WriteStatus computes the shared part of status from the scope. It runs on every pass, and changes only the object in
// memory.
func WriteStatus(scope *Scope) {
	status := scope.Owner.GetServingStatus()
	status.ObservedGeneration = scope.Owner.GetGeneration()
	status.Inventory = inventory(slices.Concat(status.Inventory, scope.unlisted), scope)
	status.Replicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0
	if scope.Deployment != nil {
		status.Replicas = scope.Deployment.Status.Replicas
		status.ReadyReplicas = scope.Deployment.Status.ReadyReplicas
		status.AvailableReplicas = scope.Deployment.Status.AvailableReplicas
	}
	switch {
	case scope.selector != "":
		status.Selector = scope.selector
	case scope.applied:
		status.Selector = ""
	}
	switch {
	case scope.phases != nil:
		status.Phases = scope.phases
	case scope.applied && len(scope.objects) == 0:
		status.Phases = nil
	}
	status.Failure = failure(scope, status.Failure, time.Now())
	conditions.Write(scope.Owner, scope.Conditions)
}

// failure is what keeps the owner from being ready. What is on its way has none; what is not known leaves what was.
func failure(scope *Scope, was *aiv1.Failure, now time.Time) *aiv1.Failure {
	ready := scope.Conditions.Ready()
	entry, ok := diagnose.Lookup(ready.Reason)
	switch {
	case ready.Reason == aiv1.ReasonPaused || ready.IsTrue():
		return nil
	case ready.Status != metav1.ConditionFalse:
		return was
	case !ok || entry.Advisory:
		return nil
	}
	is := &aiv1.Failure{Reason: ready.Reason, Message: conditions.Bounded(ready.Message), Since: metav1.NewTime(now.Truncate(time.Second))}
	if was != nil && was.Reason == is.Reason {
		is.Since = was.Since
	}
	if primary := scope.diagnosis.Primary(); primary != nil && primary.Reason == is.Reason {
		is.Container, is.ExitCode = primary.Container, primary.ExitCode
		if primary.Object != (diagnose.Object{}) {
			is.Object = &aiv1.FailureObject{Kind: primary.Object.Kind, Name: primary.Object.Name}
		}
	}
	for i := range scope.diagnosis.Findings {
		if reason := scope.diagnosis.Findings[i].Reason; reason != is.Reason {
			is.Others = append(is.Others, reason)
		}
	}
	return is
}

// inventory is what was applied. After a failure it is what stood there before and what was meant to: a part of it may
// have been created, and nothing of it may be forgotten.
func inventory(recorded []aiv1.InventoryEntry, scope *Scope) []aiv1.InventoryEntry {
	meant := apply.Inventory(scope.objects)
	if scope.applied {
		return meant
	}
	for _, entry := range recorded {
		if !slices.Contains(meant, entry) {
			meant = append(meant, entry)
		}
	}
	return meant
}
