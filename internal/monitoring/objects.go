package monitoring

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/config"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
)

// tokenKey is the key of a Secret that holds a token, as Kubernetes names it.
const tokenKey = corev1.ServiceAccountTokenKey

// ownLabels are on every object, as kustomize puts them on those that it installs.
var ownLabels = map[string]string{
	"app.kubernetes.io/name":    aiv1.ManagedBy,
	"app.kubernetes.io/part-of": aiv1.ManagedBy,
	aiv1.LabelManagedBy:         aiv1.ManagedBy,
}

// objects are what config/prometheus installs, for a namespace and with what the settings say.
func objects(namespace string, settings Settings) ([]client.Object, error) {
	monitor, rules := &monitoringv1.ServiceMonitor{}, &monitoringv1.PrometheusRule{}
	if err := yaml.UnmarshalStrict(config.ServiceMonitor, monitor); err != nil {
		return nil, fmt.Errorf("read the ServiceMonitor: %w", err)
	}
	if err := yaml.UnmarshalStrict(config.PrometheusRule, rules); err != nil {
		return nil, fmt.Errorf("read the PrometheusRule: %w", err)
	}
	if settings.TokenSecret != "" {
		for i := range monitor.Spec.Endpoints {
			endpoint := &monitor.Spec.Endpoints[i]
			endpoint.BearerTokenFile = ""
			endpoint.Authorization = &monitoringv1.Authorization{Credentials: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: settings.TokenSecret}, Key: tokenKey,
			}}
		}
	}
	all := []client.Object{monitor, rules}
	for _, object := range all {
		object.SetNamespace(namespace)
		merged := maps.Clone(settings.Labels)
		if merged == nil {
			merged = map[string]string{}
		}
		maps.Copy(merged, object.GetLabels())
		maps.Copy(merged, ownLabels)
		object.SetLabels(merged)
	}
	return all, nil
}
