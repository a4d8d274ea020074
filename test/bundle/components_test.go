package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestComponents builds the optional components on a whole installation.
func TestComponents(t *testing.T) {
	for component, wants := range map[string][]string{
		"high-availability": {"replicas: 2", "topologySpreadConstraints:", "kind: PodDisruptionBudget"},
		"network-policy":    {"kind: NetworkPolicy"},
	} {
		t.Run(component, func(t *testing.T) {
			// kustomize takes no absolute paths.
			if err := os.MkdirAll(filepath.Join(root(t), "dist"), 0o755); err != nil {
				t.Fatal(err)
			}
			dir, err := os.MkdirTemp( //nolint:usetesting // kustomize takes only paths inside the repository
				filepath.Join(root(t), "dist"), "component-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" +
				"resources: [../../config/default]\ncomponents: [../../config/" + component + "]\n"
			if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			out, err := tool(t, "kustomize", "build", dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range wants {
				if !strings.Contains(out, want) {
					t.Errorf("it has no %q", want)
				}
			}
		})
	}
}

// TestWhoSetsUpMonitoring holds that it is the operator in an installation from the bundle, which may not have the objects, and in
// no other, where they would be there twice.
func TestWhoSetsUpMonitoring(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root(t), "bundle", "manifests", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	all := ""
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all += string(data)
	}
	for want, count := range map[string]int{
		"name: MONITORING\n                  value: auto\n": 1, "grafana_dashboard: ": 1,
		"kind: ServiceMonitor": 0, "kind: PrometheusRule": 0, "kind: PodMonitor": 0,
	} {
		if got := strings.Count(all, want); got != count {
			t.Errorf("the bundle has %q %d times, want %d", want, got, count)
		}
	}
	for _, folder := range []string{"config/default", "config/prometheus"} {
		out, err := tool(t, "kustomize", "build", folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, unwanted := range []string{"MONITORING", "prometheusrules", "servicemonitors"} {
			if strings.Contains(out, unwanted) {
				t.Errorf("%s has %q", folder, unwanted)
			}
		}
	}
}
