package resolve

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/naming"
)

// The kinds that own children.
const (
	KindAIModel          = "AIModel"
	KindInferenceService = "InferenceService"
)

// IsURL says whether the endpoint of a model is the address of a server elsewhere.
func IsURL(endpoint string) bool {
	return strings.HasPrefix(endpoint, "http://") || strings.HasPrefix(endpoint, "https://")
}

// FromAIModel gives the Inputs of a model that brings its own image.
func FromAIModel(model *aiv1.AIModel, credentials *Credentials) Inputs {
	accelerator, resources := splitResources(model.Spec.Resources)
	return Inputs{
		Owner: Owner{
			Kind:        KindAIModel,
			Namespace:   model.Namespace,
			Name:        model.Name,
			ChildName:   naming.AIModelChild(model.Name),
			ModelObject: model.Name,
		},
		Model: modelFacts(model),
		Runtime: aiv1.Runtime{
			Name:       aiv1.RuntimeCustom,
			Image:      model.Spec.Image,
			Port:       model.Spec.Port,
			HealthPath: model.Spec.HealthPath,
		},
		Replicas:    ptr.Deref(model.Spec.Replicas, 1),
		Accelerator: accelerator,
		Resources:   resources,
		Credentials: credentials,
	}
}

// FromInferenceService gives the Inputs of a service of the given model.
func FromInferenceService(svc *aiv1.InferenceService, model *aiv1.AIModel, credentials *Credentials) Inputs {
	accelerator, resources := svc.Spec.Accelerator, svc.Spec.Resources
	if accelerator == nil {
		accelerator, resources = splitResources(resources)
	}
	return Inputs{
		Owner: Owner{
			Kind:        KindInferenceService,
			Namespace:   svc.Namespace,
			Name:        svc.Name,
			ChildName:   naming.InferenceServiceChild(svc.Name),
			ModelObject: model.Name,
		},
		Model:       modelFacts(model),
		Runtime:     svc.Spec.Runtime,
		Replicas:    ptr.Deref(svc.Spec.Replicas, 1),
		Accelerator: accelerator,
		Autoscaling: svc.Spec.Autoscaling,
		Resources:   resources,
		Placement:   svc.Spec.Placement,
		Disruption:  svc.Spec.Disruption,
		Credentials: credentials,
		ChartValues: raw(svc.Spec.ChartValues),
	}
}

func modelFacts(model *aiv1.AIModel) Model {
	facts := Model{
		Name:       model.Spec.ModelName,
		Version:    model.Spec.ModelVersion,
		Provider:   string(model.Spec.ModelProvider),
		Type:       string(model.Spec.ModelType),
		Parameters: raw(model.Spec.Parameters),
		Source:     model.Spec.Source,
		Format:     model.Spec.Format,
	}
	if !IsURL(model.Spec.Endpoint) {
		facts.Path = model.Spec.Endpoint
	}
	return facts
}

func raw(extension *runtime.RawExtension) json.RawMessage {
	if extension == nil || len(extension.Raw) == 0 {
		return nil
	}
	return extension.Raw
}
