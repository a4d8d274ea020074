package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
)

// operatorLabels select the operator's own Deployment, wherever it is installed.
var operatorLabels = client.MatchingLabels{
	"app.kubernetes.io/name":      "aimodel-operator",
	"app.kubernetes.io/component": "controller-manager",
}

// versions is what the version command prints.
type versions struct {
	Plugin     string   `json:"plugin"`
	Kubernetes string   `json:"kubernetes,omitempty"`
	Operators  []string `json:"operators,omitempty"`
}

func (s *session) versionCommand() *cobra.Command {
	var format string
	var onlyClient bool
	c := &cobra.Command{
		Use:     "version",
		GroupID: groupOther,
		Short:   "Print the versions of the plugin, the cluster and the operator",
		Example: "  kubectl aimodel version\n  kubectl aimodel version --client",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			found := versions{Plugin: s.Version}
			if !onlyClient {
				if err := s.askVersions(c, &found); err != nil {
					s.warn("%s", sentenceOf(err))
				}
			}
			if format != output.Table {
				return output.Print(s.Out, format, found)
			}
			rows := [][]output.Cell{output.Plain("plugin", found.Plugin)}
			if found.Kubernetes != "" {
				rows = append(rows, output.Plain("kubernetes", found.Kubernetes))
			}
			for _, operator := range found.Operators {
				rows = append(rows, output.Plain("operator", operator))
			}
			return output.WriteTable(s.Out, rows)
		},
	}
	outputFlag(c, &format, output.Table, output.JSON, output.YAML)
	c.Flags().BoolVar(&onlyClient, "client", false, "do not ask the cluster")
	return c
}

func (s *session) askVersions(c *cobra.Command, found *versions) error {
	discovery, err := s.Discovery()
	if err != nil {
		return err
	}
	server, err := discovery.ServerVersion()
	if err != nil {
		return err
	}
	found.Kubernetes = server.GitVersion
	reader, err := s.Client()
	if err != nil {
		return err
	}
	deployments := &appsv1.DeploymentList{}
	if err := reader.List(c.Context(), deployments, operatorLabels); err != nil {
		return err
	}
	for i := range deployments.Items {
		deployment := &deployments.Items[i]
		for _, container := range deployment.Spec.Template.Spec.Containers {
			found.Operators = append(found.Operators, fmt.Sprintf("%s in namespace %s", container.Image, deployment.Namespace))
		}
	}
	return nil
}
