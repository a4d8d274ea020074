// Command scorecard runs a test of an installed operator against the cluster and prints the result as `operator-sdk scorecard`
// reads it. It uses the operator as a user would, and must not look at how the operator works.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	aiv1alpha1 "github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
)

// version is that of the build.
var version = "0.0.0-dev"

// namespaceEnv is set by scorecard to the namespace that a test may use.
const namespaceEnv = "SCORECARD_NAMESPACE"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scorecard:", err)
		os.Exit(1)
	}
}

// run runs the test that args name and prints its result. A test that fails is no error of run: scorecard reads the result.
func run(ctx context.Context, args []string, out io.Writer) error {
	c := check{namespace: os.Getenv(namespaceEnv), podAnnotations: map[string]string{}}
	flags := flag.NewFlagSet("scorecard", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	folder := flags.String("bundle", "/bundle", "`folder` of the bundle")
	flags.StringVar(&c.namespace, "namespace", c.namespace, "`namespace` to work in")
	flags.StringVar(&c.image, "image", "",
		"`image` of a model server to use instead of those of the samples, which exist nowhere; in a pod, its own by default")
	flags.DurationVar(&c.timeout, "timeout", 4*time.Minute, "how long a test waits for what should happen")
	const annotate = "`key=value` to add to the pods whose image is missing; simulated nodes act on it"
	flags.Func("broken-pod-annotation", annotate, func(pair string) error {
		key, value, found := strings.Cut(pair, "=")
		if !found {
			return errors.New("must be key=value")
		}
		c.podAnnotations[key] = value
		return nil
	})
	showVersion := flags.Bool("version", false, "print the version")
	usage := func() {
		flags.SetOutput(out)
		fmt.Fprintln(out, "scorecard runs one test of the installed operator: "+strings.Join(names(), ", ")+".\n\n"+
			"Usage: scorecard [flags] TEST\n       scorecard serve    stands in for a model server")
		flags.PrintDefaults()
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		usage()
		return nil
	case err != nil:
		return fmt.Errorf("%w; see --help", err)
	case *showVersion:
		_, err := fmt.Fprintln(out, version)
		return err
	case flags.NArg() == 1 && flags.Arg(0) == "serve":
		return serve(ctx)
	case flags.NArg() != 1 || suite[flags.Arg(0)] == nil:
		return fmt.Errorf("name one of the tests %s", strings.Join(names(), ", "))
	case c.namespace == "":
		return fmt.Errorf("set %s or --namespace", namespaceEnv)
	}
	name := flags.Arg(0)
	err := c.prepare(ctx, *folder)
	if err == nil {
		err = suite[name](ctx, &c)
	}
	return report(out, name, c.story, err)
}

// prepare connects to the cluster and reads the samples of the bundle.
func (c *check) prepare(ctx context.Context, folder string) error {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	c.server = config.Host
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, aiv1.AddToScheme, aiv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return fmt.Errorf("build the scheme: %w", err)
		}
	}
	if c.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	if c.image == "" {
		if c.image, err = c.ownImage(ctx); err != nil {
			return err
		}
	}
	c.samples, err = readSamples(folder)
	return err
}

func names() []string {
	all := make([]string, 0, len(suite))
	for name := range suite {
		all = append(all, name)
	}
	sort.Strings(all)
	return all
}

// status is a TestStatus of scorecard.operatorframework.io/v1alpha3.
type status struct {
	Results []result `json:"results"`
}

type result struct {
	Name   string   `json:"name"`
	Log    string   `json:"log,omitempty"`
	State  string   `json:"state"`
	Errors []string `json:"errors,omitempty"`
}

func report(out io.Writer, name string, story []string, failure error) error {
	r := result{Name: name, State: "pass", Log: strings.Join(story, "\n")}
	if failure != nil {
		r.State, r.Errors = "fail", []string{failure.Error()}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(status{Results: []result{r}})
}
