// Package backends knows every kind of registry. It must hold nothing but the list of them.
package backends

import (
	"maps"
	"slices"
	"strings"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/kubeflow"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/mlflow"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/oci"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/webhook"
)

// factories has the backend of each kind.
var factories = map[string]factory{
	registry.KindMLflow:   backend(mlflow.New),
	registry.KindKubeflow: backend(kubeflow.New),
	registry.KindOCI:      backend(oci.New),
	registry.KindWebhook:  backend(webhook.New),
}

type factory = func(registry.Config) (registry.Backend, error)

// backend makes a factory of the constructor of one backend.
func backend[B registry.Backend](construct func(registry.Config) (B, error)) factory {
	return func(config registry.Config) (registry.Backend, error) {
		made, err := construct(config)
		if err != nil {
			return nil, err // not a nil *Backend in an interface
		}
		return made, nil
	}
}

// New makes the backend of a kind. A configuration that it cannot work with is an Invalid error.
func New(kind string, config registry.Config) (registry.Backend, error) {
	factory, ok := factories[kind]
	if !ok {
		return nil, registry.Errorf(registry.Invalid, "this operator knows no registries of type %q, but only: %s",
			kind, strings.Join(slices.Sorted(maps.Keys(factories)), ", "))
	}
	return factory(config)
}
