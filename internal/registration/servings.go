package registration

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// Servings lists where the model is served: by itself, if it has an image or an endpoint elsewhere, and by the services, sorted.
func Servings(model *aiv1.AIModel, services []aiv1.InferenceService) []registry.Serving {
	var all []registry.Serving
	if model.Spec.Image != "" || model.Status.ModelEndpoint != "" {
		all = append(all, registry.Serving{
			Kind: "AIModel", Namespace: model.Namespace, Name: model.Name,
			URL:   model.Status.InferenceURL + model.Status.ModelEndpoint, // only one of them is ever set
			Ready: isTrue(model, aiv1.ConditionAvailable) || model.Status.ModelEndpoint != "",
		})
	}
	for i := range services {
		service := &services[i]
		if !service.DeletionTimestamp.IsZero() {
			continue
		}
		all = append(all, registry.Serving{
			Kind: "InferenceService", Namespace: service.Namespace, Name: service.Name,
			URL: service.Status.URL, Runtime: string(service.Spec.Runtime.Name),
			// Not Ready: that moves with every scaling and rollout, and a registry need not hear of them.
			Ready: isTrue(service, aiv1.ConditionAvailable),
		})
	}
	slices.SortFunc(all, func(a, b registry.Serving) int {
		return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name)
	})
	return all
}

func isTrue(object interface{ GetConditions() []metav1.Condition }, kind string) bool {
	return meta.IsStatusConditionTrue(object.GetConditions(), kind)
}
