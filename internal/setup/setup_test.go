package setup

import (
	"context"
	"flag"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/watches"
)

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"the defaults":   {func(*Options) {}, ""},
		"two namespaces": {func(o *Options) { o.Namespaces = []string{"team-a", "team-b"} }, ""},
		"no workers":     {func(o *Options) { o.Workers = 0 }, "--workers must be at least 1, not 0"},
		"a lease that hardly lasts": {func(o *Options) { o.LeaseDuration = 5 * time.Second },
			"--leader-elect-lease-duration must be at least 15s, not 5s"},
		"profiles for this machine": {func(o *Options) { o.ProfileAddress = "[::1]:6060" }, ""},
		"profiles for everybody": {func(o *Options) { o.ProfileAddress = ":6060" },
			"--pprof-bind-address must be on the loopback, as 127.0.0.1:6060, not :6060: anybody who reaches it may read the operator's memory"},
		"profiles by a name": {func(o *Options) { o.ProfileAddress = "localhost:6060" },
			"--pprof-bind-address must be on the loopback, as 127.0.0.1:6060, not localhost:6060: anybody who reaches it may read the operator's memory"},
		"profiles on no port": {func(o *Options) { o.ProfileAddress = "127.0.0.1" },
			"--pprof-bind-address must be on the loopback, as 127.0.0.1:6060, not 127.0.0.1: anybody who reaches it may read the operator's memory"},
		"no requests":        {func(o *Options) { o.QPS = 0 }, "--kube-api-qps must be above 0, not 0"},
		"fewer than none":    {func(o *Options) { o.QPS = -1.5 }, "--kube-api-qps must be above 0, not -1.5"},
		"neither on nor off": {func(o *Options) { o.Monitoring = "on" }, `--monitoring or MONITORING must be auto or off, not "on"`},
		"labels that are none": {func(o *Options) { o.MonitoringLabels = "a=b c" },
			`--monitoring-labels or MONITORING_LABELS: [a]: Invalid value: "b c": a valid label must be an empty string or consist of ` +
				`alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or ` +
				`'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
		"no name of a Secret": {func(o *Options) { o.MonitoringTokenSecret = "a/b" },
			`--monitoring-token-secret or MONITORING_TOKEN_SECRET: "a/b" is not the name of a Secret: a lowercase RFC 1123 subdomain must ` +
				`consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. ` +
				`'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		"no requests at once": {func(o *Options) { o.Burst = 0 }, "--kube-api-burst must be at least 1, not 0"},
		"a namespace that cannot be": {func(o *Options) { o.Namespaces = []string{"team-a", "Team_B"} },
			`--watch-namespaces or WATCH_NAMESPACE: "Team_B" is not the name of a namespace: ` +
				`a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an ` +
				`alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`},
	} {
		t.Run(name, func(t *testing.T) {
			options := Defaults()
			tc.change(&options)
			got := ""
			if err := options.Validate(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("error = %q\nwant    %q", got, tc.want)
			}
		})
	}
}

func TestFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		args    []string
		want    func(*Options)
		wantErr bool
	}{
		"none": {want: func(*Options) {}},
		"all": {
			args: []string{"--metrics-bind-address=0", "--metrics-secure=false", "--metrics-cert-dir=/certs", "--health-probe-bind-address=:1", "--pprof-bind-address=127.0.0.1:2",
				"--leader-elect=false", "--leader-elect-namespace=ops", "--leader-elect-lease-duration=1m", "--watch-namespaces= a, b ,,c", "--workers=2", "--kube-api-qps=1.5",
				"--kube-api-burst=3", "--shutdown-timeout=5s", "--cluster-id=c1", "--default-model-registry=a/main", "--registry-workers=3",
				"--registry-check-interval=5m", "--monitoring=auto", "--monitoring-labels=release=prometheus", "--monitoring-token-secret=scraper"},
			want: func(o *Options) {
				*o = Options{MetricsAddress: "0", MetricsCertDir: "/certs", ProbeAddress: ":1", ProfileAddress: "127.0.0.1:2", LeaderElectNamespace: "ops", LeaseDuration: time.Minute,
					Namespaces: []string{"a", "b", "c"}, Workers: 2, QPS: 1.5, Burst: 3, ShutdownTimeout: 5 * time.Second,
					ClusterID: "c1", DefaultRegistry: types.NamespacedName{Namespace: "a", Name: "main"}, RegistryWorkers: 3,
					RegistryCheckInterval: 5 * time.Minute, Monitoring: MonitoringAuto, MonitoringLabels: "release=prometheus",
					MonitoringTokenSecret: "scraper"}
			},
		},
		"all namespaces, said so":    {args: []string{"--watch-namespaces="}, want: func(*Options) {}},
		"not a number":               {args: []string{"--workers=many"}, wantErr: true},
		"not a time":                 {args: []string{"--shutdown-timeout=5"}, wantErr: true},
		"no namespace of a registry": {args: []string{"--default-model-registry=main"}, wantErr: true},
		"not known":                  {args: []string{"--nonsense"}, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, want := Defaults(), Defaults()
			flags := flag.NewFlagSet("manager", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			got.Bind(flags)
			if err := flags.Parse(tc.args); (err != nil) != tc.wantErr {
				t.Fatalf("error = %v, want one: %v", err, tc.wantErr)
			}
			if tc.wantErr {
				return
			}
			tc.want(&want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMonitoringIsSetInTheEnvironment(t *testing.T) {
	for name, tc := range map[string]struct {
		environment map[string]string
		args        []string
		want        []string
	}{
		"not at all":  {want: []string{MonitoringOff, "", ""}},
		"all of it":   {map[string]string{"MONITORING": "auto", "MONITORING_LABELS": "a=b", "MONITORING_TOKEN_SECRET": "s"}, nil, []string{MonitoringAuto, "a=b", "s"}},
		"a flag wins": {map[string]string{"MONITORING": "auto", "MONITORING_LABELS": "a=b"}, []string{"--monitoring=off", "--monitoring-labels=c=d"}, []string{MonitoringOff, "c=d", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			options := Defaults()
			options.ReadEnvironment(func(name string) string { return tc.environment[name] })
			flags := flag.NewFlagSet("manager", flag.ContinueOnError)
			options.Bind(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, []string{options.Monitoring, options.MonitoringLabels, options.MonitoringTokenSecret}); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheEnvironmentSpeaksBeforeTheFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		watchNamespace string
		args           []string
		namespaces     []string
	}{
		"neither":                    {},
		"the environment":            {watchNamespace: "team-a,team-b", namespaces: []string{"team-a", "team-b"}},
		"a flag wins":                {watchNamespace: "team-a,team-b", args: []string{"--watch-namespaces=team-c"}, namespaces: []string{"team-c"}},
		"a flag wins when it is all": {watchNamespace: "team-a,team-b", args: []string{"--watch-namespaces="}},
	} {
		t.Run(name, func(t *testing.T) {
			options := Defaults()
			options.ReadEnvironment(func(name string) string { return map[string]string{"WATCH_NAMESPACE": tc.watchNamespace}[name] })
			flags := flag.NewFlagSet("manager", flag.ContinueOnError)
			options.Bind(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.namespaces, options.Namespaces); diff != "" {
				t.Errorf("namespaces (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEverySettingHasAFlag(t *testing.T) {
	options := Defaults()
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	options.Bind(flags)
	count := 0
	flags.VisitAll(func(f *flag.Flag) {
		count++
		if f.Usage == "" {
			t.Errorf("--%s has no help", f.Name)
		}
	})
	if want := reflect.TypeFor[Options]().NumField() - 3; count != want { // Site comes from variables, Version from the build, Namespace from the pod
		t.Errorf("%d flags for %d settings", count, want)
	}
}

func TestEveryCachedTypeIsListed(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	options := cacheOptions(nil)
	if options.DefaultNamespaces != nil {
		t.Errorf("namespaces = %v, want all", options.DefaultNamespaces)
	}
	listed := map[string]labels.Selector{}
	for object, by := range options.ByObject {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			t.Fatal(err)
		}
		listed[gvk.Kind] = by.Label
	}
	for _, object := range cachedTypes() {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			t.Fatal(err)
		}
		selector, ok := listed[gvk.Kind]
		if !ok {
			t.Errorf("%s is read from the cache, and not listed", gvk.Kind)
			continue
		}
		delete(listed, gvk.Kind)
		all := selector == nil || selector.Empty()
		if want := gvk.Group == aiv1.Group; all != want {
			t.Errorf("all of %s are cached: %v, want %v", gvk.Kind, all, want)
		}
		if !all && !selector.Matches(labels.Set{aiv1.LabelManagedBy: aiv1.ManagedBy}) {
			t.Errorf("%s of ours are not cached", gvk.Kind)
		}
	}
	for kind := range listed {
		t.Errorf("%s is listed, and not read from the cache", kind)
	}
	for _, object := range watches.OptionalChildTypes() {
		if _, err := apiutil.GVKForObject(object, scheme); err != nil {
			t.Errorf("%T: %v", object, err)
		}
	}
}

func TestNamespacesBoundTheCache(t *testing.T) {
	got := cacheOptions([]string{"a", "b"}).DefaultNamespaces
	if len(got) != 2 {
		t.Errorf("namespaces = %v, want a and b", got)
	}
	for _, name := range []string{"a", "b"} {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is not among %v", name, got)
		}
	}
}

func TestManagerOptions(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	options := Defaults()
	options.LeaderElectNamespace = "ops"
	secure := managerOptions(options, scheme)
	if !secure.Metrics.SecureServing || secure.Metrics.FilterProvider == nil {
		t.Error("secure metrics are served to anybody")
	}
	if !secure.LeaderElection || secure.LeaderElectionNamespace != "ops" || secure.LeaderElectionID != leaseName {
		t.Errorf("lease = %v %s/%s", secure.LeaderElection, secure.LeaderElectionNamespace, secure.LeaderElectionID)
	}
	if *secure.GracefulShutdownTimeout != options.ShutdownTimeout || secure.Controller.MaxConcurrentReconciles != options.Workers {
		t.Errorf("shutdown in %s, %d workers", *secure.GracefulShutdownTimeout, secure.Controller.MaxConcurrentReconciles)
	}
	options.MetricsSecure = false
	if plain := managerOptions(options, scheme); plain.Metrics.SecureServing || plain.Metrics.FilterProvider != nil {
		t.Error("plain metrics ask for a token")
	}
	if got := controllerOptions(options, "AIModel"); got.MaxConcurrentReconciles != options.Workers || got.RateLimiter == nil {
		t.Errorf("controller options = %+v", got)
	}
}

func TestALeaderEndsBeforeItsLease(t *testing.T) {
	options := managerOptions(Defaults(), nil)
	if last := *options.RetryPeriod + 2**options.RenewDeadline; last >= *options.LeaseDuration {
		t.Errorf("a leader may go on for %s, and another begins after %s", last, *options.LeaseDuration)
	}
}

func TestAManagerOfBadOptionsIsNotMade(t *testing.T) {
	options := Defaults()
	options.Workers = 0
	if _, err := Manager(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, options); err == nil || err.Error() != "--workers must be at least 1, not 0" {
		t.Errorf("error = %v", err)
	}
	if _, err := Manager(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, Defaults()); err == nil {
		t.Error("a manager without a cluster is made")
	}
}

func TestStandbyWorkNeedsNoLease(t *testing.T) {
	ran := false
	work := standby(func(context.Context) error { ran = true; return nil })
	if err := work.Start(t.Context()); err != nil || !ran || work.NeedLeaderElection() {
		t.Errorf("error = %v, ran = %v, needs the lease = %v", err, ran, work.NeedLeaderElection())
	}
}
