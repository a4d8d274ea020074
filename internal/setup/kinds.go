package setup

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
)

const (
	kindsPoll    = time.Second
	kindsTimeout = 2 * time.Minute
)

// waitForKinds waits until the API server serves the operator's kinds. An installation creates the CRDs and the operator in
// one go, and the API server takes a moment to serve what a CRD declares.
func waitForKinds(ctx context.Context, cfg *rest.Config) error {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make a discovery client: %w", err)
	}
	told := false
	err = wait.PollUntilContextTimeout(ctx, kindsPoll, kindsTimeout, true, func(context.Context) (bool, error) {
		served := map[string]bool{}
		for _, version := range []string{aiv1.GroupVersion.String(), v1alpha1.GroupVersion.String()} {
			resources, err := client.ServerResourcesForGroupVersion(version)
			if err != nil && !apierrors.IsNotFound(err) {
				return false, fmt.Errorf("ask the API server for its kinds: %w", err)
			}
			if resources != nil {
				for i := range resources.APIResources {
					served[resources.APIResources[i].Name] = true
				}
			}
		}
		if served["aimodels"] && served["inferenceservices"] && served["modelregistries"] {
			return true, nil
		}
		if !told {
			ctrl.Log.WithName("setup").Info("Waiting for the CRDs of " + aiv1.Group)
			told = true
		}
		return false, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("the CRDs of %s are not installed: apply config/crd first", aiv1.Group)
	}
	return err
}
