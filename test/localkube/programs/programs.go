// Package programs holds the Kubernetes programs that are linked into the localkube binary, each under the name that
// selects it. It starts none of them by itself: the supervisor runs the binary again under a program's name.
package programs

import (
	"context"
	"errors"
	"flag"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // version metrics
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kubecontrollermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kwokconfig "sigs.k8s.io/kwok/pkg/config"
	kwokcmd "sigs.k8s.io/kwok/pkg/kwok/cmd"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
	kwoksignals "sigs.k8s.io/kwok/pkg/utils/signals"
)

// Names of the programs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
	Kubectl           = "kubectl"
	Kubelet           = "kubelet"
)

// all maps a name to the program; it takes its arguments from os.Args and returns the exit status.
var all = map[string]func() int{
	Etcd:              runEtcd,
	APIServer:         cobraProgram(func() *cobra.Command { return kubeapiserver.NewAPIServerCommand() }),
	ControllerManager: cobraProgram(func() *cobra.Command { return kubecontrollermanager.NewControllerManagerCommand() }),
	Scheduler:         cobraProgram(func() *cobra.Command { return kubescheduler.NewSchedulerCommand() }),
	Kwok:              runKwok,
	Kubectl:           runKubectl,
}

// Lookup returns the program of that name. The returned function reads os.Args.
func Lookup(name string) (func() int, bool) {
	run, ok := all[name]
	return run, ok
}

func cobraProgram(command func() *cobra.Command) func() int {
	return func() int { return cli.Run(command()) }
}

func runEtcd() int {
	etcdmain.Main(os.Args)
	return 0
}

func runKwok() int {
	// Kubernetes registers --version and more on the process-wide flag sets when it is linked in; kwok adds its own to the
	// same sets and would panic on the duplicates.
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ContinueOnError)
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ContinueOnError)

	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, logger := kwoklog.InitFlags(kwoksignals.SetupSignalContext(), flags)
	ctx, err := kwokconfig.InitFlags(ctx, flags)
	if err != nil {
		logger.Error("Read the configuration", "err", err)
		return 1
	}
	command := kwokcmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil && !errors.Is(err, context.Canceled) {
		logger.Error("Run kwok", "err", err)
		return 1
	}
	return 0
}
