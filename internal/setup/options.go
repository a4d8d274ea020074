// Package setup builds the manager: scheme, cache, clients, controllers and health checks. The binary and the tests use
// the same code. It must hold no behaviour of the controllers.
package setup

import (
	"flag"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// Options are the settings of the operator, as its flags give them.
type Options struct {
	// Version is the operator's own, by which it names itself to model registries. Empty means development.
	Version string
	// MetricsAddress is where metrics are served. "0" turns them off.
	MetricsAddress string
	// MetricsSecure serves metrics over TLS, to clients that the API server lets read them.
	MetricsSecure bool
	// MetricsCertDir holds tls.crt and tls.key for metrics. Empty makes a self-signed certificate.
	MetricsCertDir string
	// ProbeAddress is where /healthz and /readyz are served. "0" turns them off.
	ProbeAddress string
	// ProfileAddress is where Go profiles are served, to whoever reaches it: so it has to be on the loopback. Empty turns them off.
	ProfileAddress string
	// LeaderElect lets one of several replicas work at a time.
	LeaderElect bool
	// LeaderElectNamespace holds the lease. Empty means the operator's own namespace.
	LeaderElectNamespace string
	// LeaseDuration is after how long without a word from the leader another replica takes over. The leader ends before.
	LeaseDuration time.Duration
	// Namespaces are the namespaces to work in. Empty means all.
	Namespaces []string
	// Workers is how many objects of one kind are reconciled at once.
	Workers int
	// QPS and Burst bound the requests to the API server per second.
	QPS   float64
	Burst int
	// ClusterID tells this cluster from the others that share a registry. Empty means the UID of the namespace kube-system.
	ClusterID string
	// DefaultRegistry is the ModelRegistry of models that ask to be registered and name none.
	DefaultRegistry types.NamespacedName
	// RegistryWorkers is how many objects are reconciled at once that concern model registries.
	RegistryWorkers int
	// RegistryCheckInterval is how often each model registry is checked.
	RegistryCheckInterval time.Duration
	// Monitoring says whether the operator sets up its own monitoring: MonitoringAuto or MonitoringOff.
	Monitoring string
	// MonitoringLabels are added to what monitoring consists of: "key=value,key=value".
	MonitoringLabels string
	// MonitoringTokenSecret is the Secret whose token Prometheus shows. Empty means that Prometheus shows its own.
	MonitoringTokenSecret string
	// Namespace is where the operator runs. Empty means the one that its pod is in. No flag sets it.
	Namespace string
	// ShutdownTimeout is how long running reconciles may take to end after a signal.
	ShutdownTimeout time.Duration
	// Site is what package environment found. No flag sets it.
	Site resolve.Site
}

// Defaults returns the settings of an operator that is started without flags.
func Defaults() Options {
	return Options{
		MetricsAddress:  ":8443",
		MetricsSecure:   true,
		ProbeAddress:    ":8081",
		LeaderElect:     true,
		LeaseDuration:   30 * time.Second,
		Workers:         16,
		QPS:             500,
		Burst:           1000,
		ShutdownTimeout: 20 * time.Second,

		RegistryWorkers:       12,
		RegistryCheckInterval: time.Minute,

		Monitoring: MonitoringOff,
	}
}

// ReadEnvironment takes what the Operator Lifecycle Manager, and who installs with it, say in the environment. Flags that are
// bound afterwards win.
func (o *Options) ReadEnvironment(getenv func(string) string) {
	o.Namespaces = splitNamespaces(getenv("WATCH_NAMESPACE"))
	o.readMonitoring(getenv)
}

// Bind declares a flag for every setting, with what is set as its default.
func (o *Options) Bind(flags *flag.FlagSet) {
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "`address` to serve metrics on; 0 turns them off")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", o.MetricsSecure,
		"serve metrics over TLS, to clients whose token the API server lets read them")
	flags.StringVar(&o.MetricsCertDir, "metrics-cert-dir", o.MetricsCertDir,
		"`folder` with tls.crt and tls.key for metrics; without it, a self-signed certificate is made")
	flags.StringVar(&o.ProbeAddress, "health-probe-bind-address", o.ProbeAddress,
		"`address` to serve /healthz and /readyz on; 0 turns them off")
	flags.StringVar(&o.ProfileAddress, "pprof-bind-address", o.ProfileAddress,
		"`address` on the loopback, as 127.0.0.1:6060, to serve Go profiles on, for kubectl port-forward; by default there are none")
	flags.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "let one of several replicas work at a time")
	flags.StringVar(&o.LeaderElectNamespace, "leader-elect-namespace", o.LeaderElectNamespace,
		"`namespace` of the lease; by default the operator's own")
	flags.DurationVar(&o.LeaseDuration, "leader-elect-lease-duration", o.LeaseDuration,
		"after how long without a word from the leader another replica takes over; a leader that cannot reach the API server ends before that")
	const namespaces = "comma-separated `namespaces` to work in; by default those of WATCH_NAMESPACE, or else all"
	flags.Func("watch-namespaces", namespaces, func(value string) error {
		o.Namespaces = splitNamespaces(value)
		return nil
	})
	flags.IntVar(&o.Workers, "workers", o.Workers, "`number` of objects of one kind that are reconciled at once")
	flags.Float64Var(&o.QPS, "kube-api-qps", o.QPS, "`requests` per second to the API server, in the long run")
	flags.IntVar(&o.Burst, "kube-api-burst", o.Burst, "`requests` to the API server at once")
	flags.StringVar(&o.ClusterID, "cluster-id", o.ClusterID,
		"`name` that tells this cluster from others that use the same model registry; by default the UID of the namespace kube-system")
	flags.Func("default-model-registry", "`namespace/name` of the ModelRegistry for models that ask to be registered and name none",
		func(value string) error {
			namespace, name, ok := strings.Cut(value, "/")
			if !ok {
				return fmt.Errorf("must be namespace/name")
			}
			o.DefaultRegistry = types.NamespacedName{Namespace: namespace, Name: name}
			return nil
		})
	flags.IntVar(&o.RegistryWorkers, "registry-workers", o.RegistryWorkers,
		"`number` of objects that are reconciled at once for model registries, apart from --workers")
	flags.DurationVar(&o.RegistryCheckInterval, "registry-check-interval", o.RegistryCheckInterval,
		"how often each model registry is checked")
	o.bindMonitoring(flags)
	flags.DurationVar(&o.ShutdownTimeout, "shutdown-timeout", o.ShutdownTimeout,
		"how long running reconciles may take to end after a signal")
}

// Validate says what is wrong with the settings, by the name of the flag.
func (o *Options) Validate() error {
	if o.Workers < 1 {
		return fmt.Errorf("--workers must be at least 1, not %d", o.Workers)
	}
	if !(o.QPS > 0) { // so that NaN is refused too
		return fmt.Errorf("--kube-api-qps must be above 0, not %g", o.QPS)
	}
	if o.Burst < 1 {
		return fmt.Errorf("--kube-api-burst must be at least 1, not %d", o.Burst)
	}
	if o.LeaseDuration < shortestLease {
		return fmt.Errorf("--leader-elect-lease-duration must be at least %s, not %s", shortestLease, o.LeaseDuration)
	}
	if o.ProfileAddress != "" && !onLoopback(o.ProfileAddress) {
		return fmt.Errorf("--pprof-bind-address must be on the loopback, as 127.0.0.1:6060, not %s: "+
			"anybody who reaches it may read the operator's memory", o.ProfileAddress)
	}
	if err := o.validateRegistries(); err != nil {
		return err
	}
	if err := o.validateMonitoring(); err != nil {
		return err
	}
	for _, namespace := range o.Namespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return fmt.Errorf("--watch-namespaces or WATCH_NAMESPACE: %q is not the name of a namespace: %s",
				namespace, strings.Join(problems, "; "))
		}
	}
	return nil
}

func (o *Options) validateRegistries() error {
	if o.RegistryWorkers < 1 {
		return fmt.Errorf("--registry-workers must be at least 1, not %d", o.RegistryWorkers)
	}
	if o.RegistryCheckInterval < time.Second {
		return fmt.Errorf("--registry-check-interval must be at least 1s, not %s", o.RegistryCheckInterval)
	}
	if name := o.DefaultRegistry; name != (types.NamespacedName{}) {
		if len(validation.IsDNS1123Label(name.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(name.Name)) > 0 {
			return fmt.Errorf("--default-model-registry: %q is not namespace/name", name)
		}
		if len(o.Namespaces) > 0 && !slices.Contains(o.Namespaces, name.Namespace) {
			return fmt.Errorf("--default-model-registry: namespace %q is not among --watch-namespaces", name.Namespace)
		}
	}
	if len(o.ClusterID) > maxClusterID || strings.ContainsFunc(o.ClusterID, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("--cluster-id must be up to %d printable characters without spaces", maxClusterID)
	}
	return nil
}

func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// shortestLease still leaves a second between two tries to renew it.
const shortestLease = 15 * time.Second

// maxClusterID is what every registry can store.
const maxClusterID = 128

func splitNamespaces(value string) []string {
	var namespaces []string
	for _, name := range strings.Split(value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			namespaces = append(namespaces, name)
		}
	}
	return namespaces
}

func (o Options) version() string {
	if o.Version == "" {
		return "development"
	}
	return o.Version
}
