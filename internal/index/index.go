// Package index declares the fields by which cached objects are looked up, so that a change of a referenced object finds
// those that refer to it without listing everything.
package index

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

const (
	// ModelRef is the field of an InferenceService that holds the name of its AIModel.
	ModelRef = "spec.modelRef.name"
	// Registry stands for the ModelRegistries that an AIModel uses, as namespace/name.
	Registry = "registry"
	// PodOwner stands for the object that a pod serves, as PodOwnerKey writes it.
	PodOwner = "owner"
)

// PodOwnerKey is the value of PodOwner for the object of that kind and name.
func PodOwnerKey(kind, name string) string { return kind + "/" + name }

// OwnerOfPod says which object a pod serves, from the marks that its Deployment's template carries. Empty when none.
func OwnerOfPod(pod client.Object) (kind, name string) {
	name = pod.GetAnnotations()[aiv1.AnnotationOwner]
	switch labels := pod.GetLabels(); {
	case name == "":
		return "", ""
	case labels[aiv1.LabelInferenceService] != "":
		return "InferenceService", name
	case labels[aiv1.LabelAIModel] != "":
		return "AIModel", name
	}
	return "", ""
}

// Register adds every index. Call it once, before the cache starts. Registries lists the ModelRegistries that an AIModel uses.
func Register(ctx context.Context, indexer client.FieldIndexer, registries func(*aiv1.AIModel) []types.NamespacedName) error {
	err := indexer.IndexField(ctx, &aiv1.AIModel{}, Registry, func(object client.Object) []string {
		model, ok := object.(*aiv1.AIModel)
		if !ok {
			return nil
		}
		var names []string
		for _, name := range registries(model) {
			names = append(names, name.String())
		}
		return names
	})
	if err != nil {
		return fmt.Errorf("index AIModels by %s: %w", Registry, err)
	}
	err = indexer.IndexField(ctx, &aiv1.InferenceService{}, ModelRef, func(object client.Object) []string {
		svc, ok := object.(*aiv1.InferenceService)
		if !ok {
			return nil
		}
		return []string{svc.Spec.ModelRef.Name}
	})
	if err != nil {
		return fmt.Errorf("index InferenceServices by %s: %w", ModelRef, err)
	}
	err = indexer.IndexField(ctx, &corev1.Pod{}, PodOwner, func(object client.Object) []string {
		kind, name := OwnerOfPod(object)
		if kind == "" {
			return nil
		}
		return []string{PodOwnerKey(kind, name)}
	})
	if err != nil {
		return fmt.Errorf("index pods by owner: %w", err)
	}
	return nil
}
