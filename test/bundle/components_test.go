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
