package programs

import (
	"context"

	"github.com/spf13/cobra"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Only Linux has a node that runs containers.
func init() {
	all[Kubelet] = cobraProgram(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) })
}
