package cli

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/environment"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// operatorLabels select the operator's own Deployment, wherever it is installed.
var operatorLabels = client.MatchingLabels{
	"app.kubernetes.io/name":      "aimodel-operator",
	"app.kubernetes.io/component": "controller-manager",
}

// operators lists the Deployments of the operators in the cluster.
func operators(ctx context.Context, reader client.Reader) ([]appsv1.Deployment, error) {
	deployments := &appsv1.DeploymentList{}
	err := reader.List(ctx, deployments, operatorLabels)
	return deployments.Items, err
}

// site is what the environment of the operator says. Where that cannot be known it is empty, with a warning.
func (s *session) site(ctx context.Context, reader client.Reader) resolve.Site {
	const assumed = "so it is taken to have no proxy, and no images for runtimes but its own"
	deployments, err := operators(ctx, reader)
	if err != nil {
		s.warn("the operator's environment cannot be read, %s: %s", assumed, sentenceOf(err))
		return resolve.Site{}
	}
	if len(deployments) > 1 {
		s.warn("%d operators are installed: the environment that counts is that of namespace %q", len(deployments), deployments[0].Namespace)
	}
	variables := map[string]string{}
	for i := range deployments[:min(1, len(deployments))] {
		for _, container := range deployments[i].Spec.Template.Spec.Containers {
			for _, variable := range container.Env {
				variables[variable.Name] = variable.Value
			}
		}
	}
	found, err := environment.Of(variables)
	if err != nil {
		s.warn("the operator cannot use its environment, %s: %s", assumed, sentenceOf(err))
	}
	return found.Site
}
