package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/cluster"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/gpunode"
)

type upFlags struct {
	nodes          []string
	detach         bool
	exitWithParent bool
	options        cluster.Options
}

func newUp(dir *string) *cobra.Command {
	flags := &upFlags{options: cluster.Options{RealNode: cluster.Auto}}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a cluster; it lives until Ctrl-C, or until `localkube down` with --detach",
		Long: `Starts a cluster, prints progress to standard error and, when it is ready, one line to standard output:

  ready KUBECONFIG=<path>

The folder then holds kubeconfig (an administrator's), localkube.json (for scripts) and logs/. Everything listens on
127.0.0.1 only, on free ports. At the end all processes are stopped and the folder is removed.

The real node (--real-node) needs Linux, root, runc and the CNI plugins. Where there is one, simulated nodes carry the
taint nvidia.com/gpu=present:NoSchedule, so that pods which ask for no GPU land on the real node and those which do, and
tolerate that taint, on simulated ones; the real node offers no GPUs unless --real-node-gpus says how many. Where there
is none, simulated nodes carry no taint. A node's SPEC can say otherwise.

` + gpunode.Usage,
		Example: `  localkube up --node name=a100,count=2 --node name=mig,mig=1g.10gb:7
  localkube up --detach --controller-manager-arg=--horizontal-pod-autoscaler-sync-period=2s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			flags.options.Dir = *dir
			for _, text := range flags.nodes {
				spec, err := gpunode.Parse(text)
				if err != nil {
					return err
				}
				flags.options.Nodes = append(flags.options.Nodes, spec)
			}
			if flags.detach {
				return upDetached(cmd.Context(), *dir)
			}
			return up(cmd.Context(), cmd.InOrStdin(), flags)
		},
	}
	set := cmd.Flags()
	set.StringArrayVar(&flags.nodes, "node", nil, "add simulated nodes: a SPEC, see above (may be repeated)")
	set.Var(&flags.options.RealNode, "real-node", "run one node with real pods: auto says why when it cannot, on fails")
	set.IntVar(&flags.options.RealNodeGPUs, "real-node-gpus", 0, "GPUs that the real node pretends to have")
	set.BoolVar(&flags.options.AuditLog, "audit-log", false, "record every request, one JSON line each, in logs/audit.log")
	set.BoolVar(&flags.detach, "detach", false, "return when the cluster is ready and leave it running")
	set.BoolVar(&flags.exitWithParent, "exit-with-parent", false, "stop when standard input ends, as it does when the parent ends that holds it")
	set.BoolVar(&flags.options.KeepData, "keep-data", false, "leave the folder, with its logs, in place at the end")
	set.DurationVar(&flags.options.Timeout, "timeout", 90*time.Second, "how long the start may take")
	set.StringArrayVar(&flags.options.APIServerArgs, "apiserver-arg", nil, "a further flag of kube-apiserver (may be repeated)")
	set.StringArrayVar(&flags.options.ControllerManagerArgs, "controller-manager-arg", nil, "a further flag of kube-controller-manager (may be repeated)")
	set.StringArrayVar(&flags.options.SchedulerArgs, "scheduler-arg", nil, "a further flag of kube-scheduler (may be repeated)")
	return cmd
}

func up(ctx context.Context, stdin io.Reader, flags *upFlags) error {
	binary, err := self()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if flags.exitWithParent {
		go func() {
			_, _ = io.Copy(io.Discard, stdin)
			cancel()
		}()
	}
	flags.options.Binary, flags.options.Progress = binary, progress
	c, err := cluster.Start(ctx, flags.options)
	if err != nil {
		return err
	}
	defer c.Stop()
	fmt.Println("ready KUBECONFIG=" + c.State.Kubeconfig)
	if err := c.Wait(ctx); err != nil {
		return fmt.Errorf("the cluster broke; its logs are in %s", filepath.Join(c.Dir(), "logs"))
	}
	progress("Stopping")
	return nil
}

// upDetached starts this program again without --detach and waits until that one is ready. What it says goes to a file
// beside the folder's own, and is shown here until then.
func upDetached(ctx context.Context, dir string) error {
	binary, err := self()
	if err != nil {
		return err
	}
	if cluster.Running(dir) {
		return fmt.Errorf("a cluster is running in %s already: use it, or stop it with `localkube down --dir %s`", dir, dir)
	}
	output, err := os.CreateTemp("", "localkube-up-*.log")
	if err != nil {
		return fmt.Errorf("make a file for the output: %w", err)
	}
	defer func() { _ = output.Close(); _ = os.Remove(output.Name()) }()
	cmd := detachedCommand(binary, append(os.Args[1:], "--detach=false"), output)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start in the background: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	shown, err := os.Open(output.Name())
	if err != nil {
		return fmt.Errorf("read the output: %w", err)
	}
	defer func() { _ = shown.Close() }()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		_, _ = io.Copy(os.Stderr, shown)
		if state, err := cluster.ReadState(dir); err == nil && state.PID == cmd.Process.Pid {
			_, _ = fmt.Printf("ready KUBECONFIG=%s\n", state.Kubeconfig)
			progress("Stop it with `localkube down`; its logs are in %s", filepath.Join(dir, "logs"))
			return nil
		}
		select {
		case <-exited:
			_, _ = io.Copy(os.Stderr, shown)
			return fmt.Errorf("the cluster did not start")
		case <-ctx.Done():
			_ = cmd.Process.Signal(os.Interrupt)
			<-exited
			return fmt.Errorf("interrupted")
		case <-ticker.C:
		}
	}
}
