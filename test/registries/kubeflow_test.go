package registries

import (
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/kubeflow"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/inspect"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

func TestKubeflow(t *testing.T) {
	t.Parallel()
	server := servers.StartKubeflow(t)
	conformance.Run(t, conformance.Target{
		New:            func(config registry.Config) (registry.Backend, error) { return kubeflow.New(config) },
		Config:         registry.Config{URL: server.URL},
		Server:         inspect.Kubeflow{URL: server.URL},
		DeleteArchives: true,
		OneAtATime:     true, // its transactions deadlock now and then, which it answers with a 500
		Many:           60,
	})
}
