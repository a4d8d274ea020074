// Package v1alpha1 holds the kind ModelRegistry of the API group ai.example.com. It may still change between releases, with a
// note in the changelog. It imports Kubernetes API types only, so that any client can use it.
//
// +kubebuilder:object:generate=true
// +groupName=ai.example.com
package v1alpha1
