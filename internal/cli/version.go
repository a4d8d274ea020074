package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
)

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
	deployments, err := operators(c.Context(), reader)
	if err != nil {
		return err
	}
	for i := range deployments {
		deployment := &deployments[i]
		for _, container := range deployment.Spec.Template.Spec.Containers {
			found.Operators = append(found.Operators, fmt.Sprintf("%s in namespace %s", container.Image, deployment.Namespace))
		}
	}
	return nil
}
