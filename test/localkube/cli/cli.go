// Package cli is localkube's command line: it turns flags into calls of package cluster and prints what users and scripts
// read. What scripts read goes to standard output, all else to standard error.
package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/cluster"
)

// Run runs the command line and returns the exit status.
func Run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// The linked-in programs have put their --version there, which is none of ours.
	pflag.CommandLine = pflag.NewFlagSet("localkube", pflag.ContinueOnError)
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "localkube:", err)
		return 1
	}
	return 0
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "localkube",
		Short: "A real Kubernetes control plane with GPU nodes, on this machine",
		Long: `localkube runs etcd, kube-apiserver, kube-controller-manager and kube-scheduler on this machine, with simulated GPU nodes
(played by kwok) and, on Linux as root, one node on which pods really run. It needs no container engine and no network.

  localkube up --detach --node name=a100,count=2    start
  export KUBECONFIG=$PWD/.localkube/kubeconfig
  localkube kubectl get nodes
  localkube down                                    stop and remove everything

The programs can be run by name too: localkube kubectl, etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
kwok, kubelet (Linux); or through a link to this binary with such a name.`,
		SilenceUsage: true, SilenceErrors: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	var dir string
	root.PersistentFlags().StringVar(&dir, "dir", defaultDir(), "the cluster's folder")
	root.AddCommand(newUp(&dir), newDown(&dir), newStatus(&dir), newNode(&dir), newImage(&dir), newKubectlHelp())
	return root
}

// defaultDir is .localkube at the root of the repository we are in, or here.
func defaultDir() string {
	start, err := os.Getwd()
	if err != nil {
		return ".localkube"
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return filepath.Join(dir, ".localkube")
		}
		if dir == filepath.Dir(dir) {
			return filepath.Join(start, ".localkube")
		}
	}
}

// newKubectlHelp only shows up in the help: main runs kubectl before the command line is looked at.
func newKubectlHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl ...",
		Short: "Run the built-in kubectl; it reads KUBECONFIG as always",
		Run:   func(*cobra.Command, []string) {},
	}
}

func newStatus(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say what runs, and where its logs are",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			state, err := cluster.ReadState(*dir)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			_, _ = fmt.Fprintf(out, "server      %s\nkubeconfig  %s\nsupervisor  pid %d\n", state.Server, state.Kubeconfig, state.PID)
			if state.RealNode {
				_, _ = fmt.Fprintf(out, "real node   %s\n", state.RealNodeName)
			} else {
				_, _ = fmt.Fprintf(out, "real node   none: %s\n", state.RealNodeReason)
			}
			for _, name := range sortedKeys(state.Components) {
				_, _ = fmt.Fprintf(out, "%-24s pid %-8d %s\n", name, state.Components[name].PID, state.Components[name].Log)
			}
			return nil
		},
	}
}

// self is this binary, by its real path: its folder holds the others.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return path, nil
}

func progress(format string, args ...any) {
	fmt.Fprintln(os.Stderr, "localkube:", strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
}

// detachedCommand is this program again with other arguments, in a session of its own.
func detachedCommand(binary string, args []string, output *os.File) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Stderr = output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}
