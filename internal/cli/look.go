package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/fleet"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/why"
)

func (s *session) whyCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:     "why NAME",
		GroupID: groupLook,
		Short:   "Tell why a model is not ready, and what to do",
		Long: "Show an object with everything that belongs to it: what it refers to, its Deployment with ReplicaSets and pods, its\n" +
			"autoscaler, budget, claims and latest warnings. What keeps it from being ready is marked. The pods are looked at anew,\n" +
			"as the operator looks at them, with your permissions; who may list the pods of all namespaces is also told how much of what is\n" +
			"lacking is free, and where.\n\n" +
			"Of a Secret is read whether it is there, and never what is in it.",
		Example: "  kubectl aimodel why llama\n" +
			"  kubectl aimodel why aim/sentiment -n team-a\n  kubectl aimodel why llama -o json | jq -r .advice",
		Args: oneName, ValidArgsFunction: s.completeNames,
		RunE: func(c *cobra.Command, args []string) error {
			object, err := s.find(c.Context(), args[0])
			if err != nil {
				return err
			}
			reader, err := s.Client()
			if err != nil {
				return err
			}
			teller := &why.Teller{Reader: reader, Now: s.Now}
			story, err := teller.Tell(c.Context(), object)
			if err != nil {
				return err
			}
			if format == output.Table {
				return why.Write(s.Out, s.style, s.Now(), story)
			}
			return output.Print(s.Out, format, story)
		},
	}
	outputFlag(c, &format, output.Table, output.JSON, output.YAML)
	return c
}

func (s *session) statusCommand() *cobra.Command {
	var format string
	var all bool
	c := &cobra.Command{
		Use:     "status",
		GroupID: groupLook,
		Short:   "Show all models: which are ready, why others are not, and the GPUs that they ask for and have",
		Long: "Show all models of a namespace, or of all, as a table with totals.\n\n" +
			"AVAILABLE counts the replicas that answer, of those asked for. GPUS counts the accelerators of pods that have a node, of those\n" +
			"that all replicas ask for.",
		Example: "  kubectl aimodel status -A\n  kubectl aimodel status -o wide\n  kubectl aimodel status -A -o json | jq '.totals'",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			namespace, err := s.namespaceOr(all)
			if err != nil {
				return err
			}
			reader, err := s.Client()
			if err != nil {
				return err
			}
			found, err := fleet.Gather(c.Context(), reader, namespace)
			if err != nil {
				return err
			}
			switch {
			case format == output.JSON || format == output.YAML:
				return output.Print(s.Out, format, found)
			case len(found.Models) == 0 && all:
				_, err = fmt.Fprintln(s.Err, "There are no models in this cluster.")
				return err
			case len(found.Models) == 0:
				_, err = fmt.Fprintf(s.Err, "There are no models in namespace %q. `kubectl aimodel status -A` looks in all.\n", namespace)
				return err
			}
			return fleet.Write(s.Out, s.style, s.Now(), found, fleet.View{Namespaces: all, Wide: format == output.Wide})
		},
	}
	outputFlag(c, &format, output.Table, output.Wide, output.JSON, output.YAML)
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "look in all namespaces")
	return c
}
