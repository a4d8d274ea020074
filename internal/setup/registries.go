package setup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/controllers/modelregistry"
	registrations "github.com/aimodel-operator/aimodel-operator/controllers/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/backends"
)

// registrationSettings says who the cluster is. Unless a flag says so, it is known by the UID of the namespace kube-system, which
// lasts as long as the cluster. An operator that may not read that registers nothing, and says why in each model.
func registrationSettings(ctx context.Context, mgr manager.Manager, options Options) (registration.Settings, error) {
	settings := registration.Settings{Cluster: options.ClusterID, Default: options.DefaultRegistry}
	if settings.Cluster != "" {
		return settings, nil
	}
	system := &corev1.Namespace{}
	err := mgr.GetAPIReader().Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, system)
	switch {
	case apierrors.IsForbidden(err):
		ctrl.Log.WithName("setup").Info("The namespace kube-system cannot be read: without --cluster-id, no model is registered anywhere")
	case err != nil:
		return settings, fmt.Errorf("identify the cluster: %w", err)
	}
	settings.Cluster = string(system.UID)
	return settings, nil
}

// addRegistries adds the controllers of model registries. They have workers of their own.
func addRegistries(
	mgr manager.Manager, writer client.Client, options Options, recorder *recorder, settings registration.Settings, seams Seams,
) error {
	factory := connections.Factory(backends.New)
	if seams.Backend != nil {
		factory = seams.Backend(factory)
	}
	connected := &connections.Connections{
		Live: mgr.GetAPIReader(), New: factory, Cluster: settings.Cluster, UserAgent: aiv1.ManagedBy + "/" + options.version(),
	}
	limits := controllerOptions(options, "")
	limits.MaxConcurrentReconciles = options.RegistryWorkers
	limits.NewQueue = nil // what waits for a registry is no work that is overdue

	registries := &modelregistry.Reconciler{
		Client: writer, Connections: connected, Settings: settings, Interval: options.RegistryCheckInterval,
	}
	if err := registries.SetupWithManager(mgr, limits); err != nil {
		return fmt.Errorf("add the ModelRegistry controller: %w", err)
	}
	models := &registrations.Reconciler{
		Client: writer, Live: mgr.GetAPIReader(), Connections: connected, Settings: settings, Recorder: recorder,
	}
	if err := models.SetupWithManager(mgr, limits); err != nil {
		return fmt.Errorf("add the registration controller: %w", err)
	}
	return nil
}
