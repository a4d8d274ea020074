package aimodel

import (
	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// writeStatus computes the status of the model from the scope, in memory.
func writeStatus(model *aiv1.AIModel, scope *serving.Scope) {
	serving.WriteStatus(scope)
	if scope.URLKnown {
		model.Status.InferenceURL = scope.URL
	}
	model.Status.ModelEndpoint = ""
	if resolve.IsURL(model.Spec.Endpoint) {
		model.Status.ModelEndpoint = model.Spec.Endpoint
	}
}
