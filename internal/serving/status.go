package serving

import (
	"slices"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
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
	conditions.Write(scope.Owner, scope.Conditions)
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
