package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/cluster"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/gpunode"
)

func newNode(dir *string) *cobra.Command {
	node := &cobra.Command{Use: "node", Short: "Add simulated nodes"}
	node.AddCommand(&cobra.Command{
		Use:     "add SPEC...",
		Short:   "Add simulated nodes to the running cluster and wait until they are Ready",
		Long:    "Adds simulated nodes to the running cluster and waits until they are Ready.\n\n" + gpunode.Usage,
		Example: "  localkube node add name=h100,count=4,product=NVIDIA-H100-80GB-HBM3",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := cluster.ReadState(*dir)
			if err != nil {
				return err
			}
			var nodes []*corev1.Node
			for _, text := range args {
				spec, err := gpunode.Parse(text)
				if err != nil {
					return err
				}
				nodes = append(nodes, spec.Nodes(state.RealNode)...)
			}
			config, err := clientcmd.BuildConfigFromFlags("", state.Kubeconfig)
			if err != nil {
				return fmt.Errorf("read the kubeconfig: %w", err)
			}
			config.QPS = -1
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("connect: %w", err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			if err := cluster.AddNodes(ctx, client, nodes, nil); err != nil {
				return err
			}
			progress("Added %d nodes", len(nodes))
			return nil
		},
	})
	return node
}
