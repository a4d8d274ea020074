package aimodel

import (
	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// writeStatus computes the status of the model from the scope, in memory.
func writeStatus(model *aiv1.AIModel, scope *serving.Scope) {
	scope.Conditions.Registered = registered(model)
	serving.WriteStatus(scope)
	if scope.URLKnown {
		model.Status.InferenceURL = scope.URL
	}
	model.Status.ModelEndpoint = ""
	if resolve.IsURL(model.Spec.Endpoint) {
		model.Status.ModelEndpoint = model.Spec.Endpoint
	}
}

// registered is what another controller says of the registration of a model that has to be registered to be ready. Zero for all
// others.
func registered(model *aiv1.AIModel) conditions.Outcome {
	if model.Spec.Registry == nil || !model.Spec.Registry.Required {
		return conditions.Outcome{}
	}
	found := conditions.Of(model.Status.Conditions, aiv1.ConditionRegistered)
	// The generation of the condition tells too little: it moves with every scaling.
	current := model.Status.Registry != nil && model.Status.Registry.ModelVersion == model.Spec.ModelVersion
	switch {
	case found.Status == "", found.IsTrue() && !current:
		return conditions.False(aiv1.ReasonRegistering, "the model is not registered yet")
	case !current:
		return conditions.False(found.Reason, found.Message)
	default:
		return found
	}
}
