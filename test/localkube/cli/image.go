package cli

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/cluster"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/image"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/realnode"
)

func newImage(dir *string) *cobra.Command {
	var spec image.Spec
	load := &cobra.Command{
		Use:   "load --ref NAME:TAG BINARY|LAYOUT",
		Short: "Make an image from a static Linux binary, or take a finished one, and give it to the real node",
		Long: `Makes an image that holds nothing but BINARY (its entrypoint) and a writable /tmp, and imports it into the real node's
containerd. LAYOUT is a folder with an image in the OCI image layout, which is imported as it is. Pods use it with imagePullPolicy
Never or IfNotPresent. Where there is no real node, nothing is done: simulated pods need no images.`,
		Example: "  CGO_ENABLED=0 go build -o /tmp/server ./cmd/server && localkube image load --ref server:dev /tmp/server\n" +
			"  localkube image load --ref example.com/aimodel-operator:dev dist/images/manager",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			state, err := cluster.ReadState(*dir)
			if err != nil {
				return err
			}
			if !state.RealNode {
				progress("Image %s is not needed: there is no real node (%s)", spec.Ref, state.RealNodeReason)
				return nil
			}
			binary, err := self()
			if err != nil {
				return err
			}
			absolute, err := filepath.Abs(*dir)
			if err != nil {
				return err
			}
			info, err := os.Stat(args[0])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Minute)
			defer cancel()
			if info.IsDir() {
				err = realnode.ImportLayout(ctx, realnode.ID(absolute), filepath.Dir(binary), spec.Ref, args[0])
			} else {
				spec.Binary = args[0]
				err = realnode.Import(ctx, realnode.ID(absolute), filepath.Dir(binary), spec)
			}
			if err != nil {
				return err
			}
			progress("Image %s is on node %s", spec.Ref, state.RealNodeName)
			return nil
		},
	}
	load.Flags().StringVar(&spec.Ref, "ref", "", "name and tag, as pods write it")
	load.Flags().StringVar(&spec.User, "user", "65532", "who runs the program")
	load.Flags().IntVar(&spec.Port, "port", 8080, "the port that the image says it serves on; 0 for none")
	_ = load.MarkFlagRequired("ref")
	parent := &cobra.Command{Use: "image", Short: "Bring images to the real node"}
	parent.AddCommand(load)
	return parent
}
