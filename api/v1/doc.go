// Package v1 holds the types of the API group ai.example.com, version v1.
//
// It defines the two kinds that users write, AIModel and InferenceService, together with the condition types,
// reasons, labels and annotations that are part of the contract with them. It imports Kubernetes API types only,
// so that a client can use it without pulling in a controller.
//
// +kubebuilder:object:generate=true
// +groupName=ai.example.com
package v1
