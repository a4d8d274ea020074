// Package access reaches the cluster for the kubectl plugin: the flags that every kubectl command has, the clients, and what
// an error of the API server means to whoever typed the command. It changes nothing by itself.
package access

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
)

// Limits of the requests of one command. A person waits for it. Most send some dozens; what is free in a large cluster takes one for
// each node.
const (
	qps   = 50
	burst = 600
)

// Scheme returns the types that the plugin works with: those of the operator.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(clientgoscheme.AddToScheme(scheme), aiv1.AddToScheme(scheme), monitoringv1.AddToScheme(scheme))
	if err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	return scheme, nil
}

// Flags say which cluster, as whom, and which namespace.
type Flags struct {
	// UserAgent is told to the API server.
	UserAgent string

	rules     *clientcmd.ClientConfigLoadingRules
	overrides *clientcmd.ConfigOverrides
	config    *rest.Config
}

// Bind declares the flags.
func (f *Flags) Bind(flags *pflag.FlagSet) {
	f.rules = clientcmd.NewDefaultClientConfigLoadingRules()
	f.overrides = &clientcmd.ConfigOverrides{}
	flags.StringVar(&f.rules.ExplicitPath, "kubeconfig", "",
		"`file` that says how to reach the cluster; by default KUBECONFIG, then ~/.kube/config")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	// The command's own words for what is used most; the rest are as kubectl has them.
	names.AuthOverrideFlags.Impersonate.Description = "`user` to act as"
	names.CurrentContext.Description = "`name` of the context of the kubeconfig to use"
	names.ContextOverrideFlags.Namespace.ShortName = "n"
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	names.ContextOverrideFlags.Namespace.Description = "`name` of the namespace to work in; by default that of the context"
	clientcmd.BindOverrideFlags(f.overrides, flags, names)
	flags.VisitAll(func(flag *pflag.Flag) { flag.Hidden = flag.Hidden || !slices.Contains(shown, flag.Name) })
}

// shown are the flags that the help lists. The others are as kubectl has them, and few need them.
var shown = []string{"as", "context", "kubeconfig", "namespace"}

func (f *Flags) loader() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules, f.overrides)
}

// Config says how to reach the cluster.
func (f *Flags) Config() (*rest.Config, error) {
	if f.config != nil {
		return f.config, nil
	}
	config, err := f.loader().ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = qps, burst
	config.UserAgent = f.UserAgent
	f.config = config
	return config, nil
}

// Namespace is the namespace to work in.
func (f *Flags) Namespace() (string, error) {
	namespace, _, err := f.loader().Namespace()
	return namespace, err
}

// GivenNamespace is the namespace that was typed. Empty when none was.
func (f *Flags) GivenNamespace() string { return f.overrides.Context.Namespace }

// Client reads and writes typed objects, without a cache.
func (f *Flags) Client() (client.WithWatch, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// Dynamic reads objects of any kind.
func (f *Flags) Dynamic() (dynamic.Interface, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	return dynamic.NewForConfig(config)
}

// Discovery tells which kinds there are.
func (f *Flags) Discovery() (discovery.DiscoveryInterface, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	return discovery.NewDiscoveryClientForConfig(config)
}

// Clientset reaches what is not an object: the logs of pods.
func (f *Flags) Clientset() (kubernetes.Interface, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}
