package setup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/controllers/aimodel"
	"github.com/aimodel-operator/aimodel-operator/controllers/inferenceservice"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
	"github.com/aimodel-operator/aimodel-operator/internal/optional"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/render"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
	"github.com/aimodel-operator/aimodel-operator/internal/upgrade"
)

const (
	leaseName = "aimodel-operator.ai.example.com"

	// The pauses between tries after an error that may pass by itself.
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
)

// Scheme returns the types that the operator works with.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, aiv1.AddToScheme, v1alpha1.AddToScheme, monitoringv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	return scheme, nil
}

// Manager builds the manager with all controllers. Start it to run the operator.
func Manager(ctx context.Context, cfg *rest.Config, options Options) (manager.Manager, error) {
	return ManagerWith(ctx, cfg, options, Seams{})
}

// Seams are the places where tests inject faults. Each may be nil.
type Seams struct {
	// Client makes the client that the controllers write with, of the one that there would be.
	Client func(client.Client) client.Client
	// Backend makes the backends of model registries, of the factory that there would be.
	Backend func(connections.Factory) connections.Factory
}

// ManagerWith is Manager with seams.
func ManagerWith(ctx context.Context, cfg *rest.Config, options Options, seams Seams) (manager.Manager, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	scheme, err := Scheme()
	if err != nil {
		return nil, err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = float32(options.QPS), options.Burst
	// The API server is near: it would spend more time on packing what it sends than the network would save.
	cfg.DisableCompression = true
	if cfg.UserAgent == "" {
		cfg.UserAgent = aiv1.ManagedBy
	}
	cfg.Wrap(metrics.CountWrites)
	cfg.Wrap(tracing.Transport)
	if err := waitForKinds(ctx, cfg); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, managerOptions(options, scheme))
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	settings, err := registrationSettings(ctx, mgr, options)
	if err != nil {
		return nil, err
	}
	if err := index.Register(ctx, mgr.GetFieldIndexer(), settings.Registries); err != nil {
		return nil, err
	}
	if err := upgrade.Add(mgr, upgrade.Rollouts, upgrade.Cleanups); err != nil {
		return nil, err
	}
	if err := addHealth(mgr); err != nil {
		return nil, err
	}
	recorder, err := newRecorder(ctx, mgr)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(addControllers(mgr, options, recorder, settings, seams), addMonitoring(mgr, &options, recorder)); err != nil {
		recorder.shutdown()
		return nil, err
	}
	metrics.CountFleet(mgr.GetCache(), mgr.Elected())
	return recording{mgr, recorder}, nil
}

func managerOptions(options Options, scheme *runtime.Scheme) ctrl.Options {
	metricsOptions := metricsserver.Options{
		BindAddress:   options.MetricsAddress,
		SecureServing: options.MetricsSecure,
		CertDir:       options.MetricsCertDir,
	}
	if options.MetricsSecure {
		metricsOptions.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	lease := leaseTimes(options.LeaseDuration)
	return ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(options.Namespaces),
		Metrics:                       metricsOptions,
		HealthProbeBindAddress:        options.ProbeAddress,
		PprofBindAddress:              options.ProfileAddress,
		LeaderElection:                options.LeaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       options.LeaderElectNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease.duration,
		RenewDeadline:                 &lease.renewal,
		RetryPeriod:                   &lease.retry,
		GracefulShutdownTimeout:       ptr.To(options.ShutdownTimeout),
		Controller:                    config.Controller{MaxConcurrentReconciles: options.Workers},
	}
}

// lease is how long a leader may be silent, how long it tries to renew, and how often.
type lease struct{ duration, renewal, retry time.Duration }

// leaseTimes makes sure that a leader ends before another takes over. One that cannot reach the API server notices after a pause and a
// renewal, and then tries to give the lease back, which may take as long as a renewal.
func leaseTimes(duration time.Duration) lease {
	return lease{duration: duration, renewal: duration * 2 / 5, retry: duration / 15}
}

func addControllers(mgr manager.Manager, options Options, recorder *recorder, settings registration.Settings, seams Seams) error {
	renderer, err := render.New()
	if err != nil {
		return fmt.Errorf("load the charts: %w", err)
	}
	writer := mgr.GetClient()
	if seams.Client != nil {
		writer = seams.Client(writer)
	}
	resolver := &resolve.Resolver{Cached: writer, Live: mgr.GetAPIReader(), Site: options.Site}
	optionalKinds, err := optional.New(mgr)
	if err != nil {
		return err
	}
	pipeline := serving.NewPipeline(renderer, writer, mgr.GetAPIReader(), optionalKinds)

	models := &aimodel.Reconciler{Resolver: resolver, Pipeline: pipeline, Recorder: recorder}
	if err := models.SetupWithManager(mgr, controllerOptions(options, resolve.KindAIModel), optionalKinds); err != nil {
		return fmt.Errorf("add the AIModel controller: %w", err)
	}
	services := &inferenceservice.Reconciler{Client: writer, Resolver: resolver, Pipeline: pipeline, Recorder: recorder}
	if err := services.SetupWithManager(mgr, controllerOptions(options, resolve.KindInferenceService), optionalKinds); err != nil {
		return fmt.Errorf("add the InferenceService controller: %w", err)
	}
	return addRegistries(mgr, writer, options, recorder, settings, seams)
}

func controllerOptions(options Options, kind string) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: options.Workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		NewQueue:                metrics.NewQueue(kind),
		// The tests run several managers in one process.
		SkipNameValidation: ptr.To(true),
	}
}

// addHealth makes the operator live as long as its process answers, and ready once every cache is filled. The caches are
// filled by a standby too, so that it can take over at once.
func addHealth(mgr manager.Manager) error {
	var synced atomic.Bool
	err := mgr.Add(standby(func(ctx context.Context) error {
		for _, object := range cachedTypes() {
			if _, err := mgr.GetCache().GetInformer(ctx, object); err != nil {
				return fmt.Errorf("fill the cache of %T: %w", object, err)
			}
		}
		synced.Store(true)
		<-ctx.Done()
		return nil
	}))
	if err != nil {
		return fmt.Errorf("add the cache check: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add the health check: %w", err)
	}
	return mgr.AddReadyzCheck("caches", func(*http.Request) error {
		if !synced.Load() {
			return fmt.Errorf("the caches are not filled yet")
		}
		return nil
	})
}

// standby is work that a replica does without being the leader.
type standby func(context.Context) error

// Start runs the work.
func (s standby) Start(ctx context.Context) error { return s(ctx) }

// NeedLeaderElection is false: a standby does it too.
func (s standby) NeedLeaderElection() bool { return false }
