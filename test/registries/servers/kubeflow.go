package servers

import (
	"os"
	"testing"
)

// Kubeflow is a Kubeflow Model Registry.
type Kubeflow struct{ URL string }

// KubeflowGiven returns the registry that KUBEFLOW_MODEL_REGISTRY_URL names. Its server comes as an image only, so none is installed.
func KubeflowGiven(t testing.TB) Kubeflow {
	t.Helper()
	url := os.Getenv("KUBEFLOW_MODEL_REGISTRY_URL")
	if url == "" {
		missing(t, "kubeflow", "KUBEFLOW_MODEL_REGISTRY_URL names none; docs/registries/kubeflow.md tells how to start one")
	}
	return Kubeflow{URL: url}
}
