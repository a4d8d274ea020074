package render_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func deployment(tb testing.TB, objects []client.Object) *appsv1.Deployment {
	tb.Helper()
	for _, obj := range objects {
		if d, ok := obj.(*appsv1.Deployment); ok {
			return d
		}
	}
	tb.Fatal("no Deployment is rendered")
	return nil
}

func TestPodsAreRestricted(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	r := newRenderer(t)
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			template := deployment(t, renderGolden(t, r, g)).Spec.Template
			result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec))
			if !result.Allowed {
				t.Errorf("refused: %s", result.ForbiddenDetail())
			}
			if g.inputs.ChartValues == nil {
				checkNoFixedUser(t, template.Spec)
			}
		})
	}
}

// checkNoFixedUser holds that a cluster may choose the users, as some insist to.
func checkNoFixedUser(t *testing.T, spec corev1.PodSpec) {
	t.Helper()
	if s := spec.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil {
		t.Error("the pod has a fixed user or group")
	}
	for _, c := range spec.Containers {
		if s := c.SecurityContext; s.RunAsUser != nil || s.RunAsGroup != nil {
			t.Errorf("container %s has a fixed user or group", c.Name)
		}
	}
	if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
		t.Error("the pod has a token of the API server")
	}
}
