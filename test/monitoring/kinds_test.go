package monitoring

import (
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// TestThePrometheusOperatorKnowsEveryField reads what is installed for the Prometheus operator, by kustomize, the chart or the operator
// itself, into that operator's own types.
func TestThePrometheusOperatorKnowsEveryField(t *testing.T) {
	monitor, rule := &monitoringv1.ServiceMonitor{}, &monitoringv1.PrometheusRule{}
	for file, into := range map[string]any{
		"../../config/prometheus/service_monitor.yaml":         monitor,
		"../../config/prometheus/prometheusrule.yaml":          rule,
		"../../internal/monitoring/testdata/token-secret.yaml": &monitoringv1.ServiceMonitor{},
	} {
		text := read(t, file)
		if err := yaml.UnmarshalStrict(text, into); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		misspelled := strings.Replace(string(text), "spec:\n", "spec:\n  nonsense: true\n", 1)
		if err := yaml.UnmarshalStrict([]byte(misspelled), into); err == nil {
			t.Errorf("%s: a field that there is not is taken", file)
		}
	}
	if len(monitor.Spec.Endpoints) != 1 || len(rule.Spec.Groups) != 1 {
		t.Errorf("%d endpoints, %d groups", len(monitor.Spec.Endpoints), len(rule.Spec.Groups))
	}
}
