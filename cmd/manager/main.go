// Command manager runs the operator: it serves AIModels and InferenceServices of a Kubernetes cluster.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/aimodel-operator/aimodel-operator/internal/environment"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/setup"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

// version and commit are set when the binary is built.
var version, commit = "development", "unknown"

// gcPercent makes the garbage collector run at half the growth that is Go's default. The operator allocates little, so that it
// costs no processor time that can be measured, and saves a tenth of the memory. The variable GOGC overrides it.
const gcPercent = 50

// lastSpans is how long the end may take for traces. The collector may be gone too.
const lastSpans = 5 * time.Second

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	options := setup.Defaults()
	options.Version = version
	options.ReadEnvironment(os.Getenv)
	found, err := environment.Adopt()
	if err != nil {
		return err
	}
	options.Site = found.Site
	logging := logOptions{format: "json", level: "info"}
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	options.Bind(flags)
	logging.bind(flags)
	showVersion := flags.Bool("version", false, "print the version and end")
	flags.SetOutput(io.Discard) // an error is told once, by main
	help := func() {
		flags.SetOutput(out)
		fmt.Fprintln(out,
			"manager serves the AIModels and InferenceServices of the cluster that KUBECONFIG, or the pod it runs in, points to.")
		fmt.Fprintln(out, "It sends traces where the OTEL_* variables of OpenTelemetry say, and none without them.")
		fmt.Fprintln(out, "\nUsage: manager [flags]")
		flags.PrintDefaults()
	}
	if kubeconfig := flag.Lookup("kubeconfig"); kubeconfig != nil {
		flags.Var(kubeconfig.Value, kubeconfig.Name,
			"`file` that says how to reach the cluster; by default KUBECONFIG, then the pod's own account")
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		help()
		return nil
	case err != nil:
		return fmt.Errorf("%w; see --help", err)
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	case *showVersion:
		_, err := fmt.Fprintln(out, version)
		return err
	}
	if err := logging.install(); err != nil {
		return err
	}
	tellSite(found)
	return start(options)
}

// tellSite logs what decides what pods get, and is not in their objects. None of it is secret.
func tellSite(found environment.Found) {
	log := ctrl.Log.WithName("setup")
	if site := found.Site; site.Proxy != (resolve.Proxy{}) || len(site.RuntimeImages) > 0 {
		log.Info("The environment says what models get", "httpProxy", site.Proxy.HTTP, "httpsProxy", site.Proxy.HTTPS,
			"noProxy", site.Proxy.No, "runtimeImages", site.RuntimeImages)
	}
	if len(found.Withheld) > 0 {
		log.Info("A proxy with a password is not handed on to models: give it to them in the Secret of their credentialsRef",
			"variables", found.Withheld)
	}
}

func start(options setup.Options) error {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	metrics.SetBuild(version, commit)
	ctx := ctrl.SetupSignalHandler()
	stopTracing, err := tracing.Start(ctx, version, ctrl.Log.WithName("tracing"))
	if err != nil {
		return err
	}
	defer func() {
		flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
		defer cancel()
		if err := stopTracing(flush); err != nil {
			ctrl.Log.WithName("tracing").Error(err, "Some of the last spans are lost")
		}
	}()
	mgr, err := setup.Manager(ctx, cfg, options)
	if err != nil {
		return err
	}
	ctrl.Log.WithName("setup").Info("Starting",
		"version", version, "commit", commit, "namespaces", options.Namespaces, "workers", options.Workers)
	return mgr.Start(ctx)
}

type logOptions struct{ format, level string }

func (o *logOptions) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.format, "log-format", o.format, "`format` of the log: json or text")
	flags.StringVar(&o.level, "log-level", o.level, "least `level` that is logged: debug, info or error")
}

func (o *logOptions) install() error {
	logger, err := o.logger(os.Stderr)
	if err != nil {
		return err
	}
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return nil
}

// logger writes a line for each message. Only who debugs the operator gets the stack of an error beside it.
func (o *logOptions) logger(to io.Writer) (logr.Logger, error) {
	level, err := zapcore.ParseLevel(o.level)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level: %w", err)
	}
	readable := func(config *zapcore.EncoderConfig) {
		config.EncodeTime = zapcore.TimeEncoderOfLayout("2006-01-02T15:04:05.000Z07:00")
	}
	encoder := zap.JSONEncoder(readable)
	switch o.format {
	case "json":
	case "text":
		encoder = zap.ConsoleEncoder(readable)
	default:
		return logr.Logger{}, fmt.Errorf("--log-format must be json or text, not %q", o.format)
	}
	stacks := zapcore.DPanicLevel
	if level == zapcore.DebugLevel {
		stacks = zapcore.ErrorLevel
	}
	return zap.New(encoder, zap.Level(level), zap.StacktraceLevel(stacks), zap.WriteTo(to)), nil
}
