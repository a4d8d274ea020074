package inferenceservice

import (
	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// writeStatus computes the status of the service from the scope, in memory.
func writeStatus(svc *aiv1.InferenceService, scope *serving.Scope) {
	serving.WriteStatus(scope)
	if scope.URLKnown {
		svc.Status.URL = scope.URL
	}
}
