// Package manifest makes of an object's Inputs the objects that the operator applies for it. The controllers and the
// kubectl plugin share it, so that what is shown is what is applied. It is pure: no client, clock or chance.
package manifest

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/render"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/values"
)

// Set is what is applied for one object.
type Set struct {
	// Objects are in the order in which they are applied.
	Objects []apply.Object
	// Selector selects the pods, as text. Empty when nothing runs.
	Selector string
}

// Builder builds the sets. It is safe for concurrent use.
type Builder struct {
	Renderer *render.Renderer
	// Scheme knows every kind that the charts render.
	Scheme *runtime.Scheme
}

// Build renders the inputs as children called name, and prepares each to be applied for the owner. Errors are those of
// values.Build and render.Renderer.Render.
func (b *Builder) Build(namespace, name string, owner metav1.OwnerReference, inputs resolve.Inputs) (*Set, error) {
	chartValues, err := values.Build(inputs)
	if err != nil {
		return nil, err
	}
	rendered, err := b.Renderer.Render(namespace, name, chartValues)
	if err != nil {
		return nil, err
	}
	set := &Set{Objects: make([]apply.Object, 0, len(rendered))}
	for _, object := range rendered {
		prepared, err := apply.Prepare(object, owner, b.Scheme)
		if err != nil {
			return nil, err
		}
		set.Objects = append(set.Objects, prepared)
		if deployment, ok := object.(*appsv1.Deployment); ok {
			set.Selector = metav1.FormatLabelSelector(deployment.Spec.Selector)
		}
	}
	return set, nil
}
