package diagnose

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAsks(t *testing.T) {
	const gpu = "nvidia.com/gpu"
	list := func(count string) corev1.ResourceList { return corev1.ResourceList{gpu: resource.MustParse(count)} }
	container := func(count string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: list(count), Limits: list("99")}}
	}
	limited := corev1.Container{Resources: corev1.ResourceRequirements{Limits: list("2")}}
	sidecar := container("1")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	for name, tc := range map[string]struct {
		pod  corev1.PodSpec
		want string
	}{
		"nothing":                             {corev1.PodSpec{Containers: []corev1.Container{{}}}, ""},
		"the containers together":             {corev1.PodSpec{Containers: []corev1.Container{container("2"), container("1")}}, "3"},
		"a limit counts without a request":    {corev1.PodSpec{Containers: []corev1.Container{limited}}, "2"},
		"an init container that wants more":   {corev1.PodSpec{Containers: []corev1.Container{limited}, InitContainers: []corev1.Container{container("4")}}, "4"},
		"an init container that wants less":   {corev1.PodSpec{Containers: []corev1.Container{limited}, InitContainers: []corev1.Container{container("1")}}, "2"},
		"a sidecar stays":                     {corev1.PodSpec{Containers: []corev1.Container{limited}, InitContainers: []corev1.Container{sidecar}}, "3"},
		"an init container beside a sidecar":  {corev1.PodSpec{Containers: []corev1.Container{{}}, InitContainers: []corev1.Container{sidecar, container("4")}}, "5"},
		"an init container before a sidecar":  {corev1.PodSpec{Containers: []corev1.Container{{}}, InitContainers: []corev1.Container{container("4"), sidecar}}, "4"},
		"the overhead of the runtime as well": {corev1.PodSpec{Containers: []corev1.Container{limited}, Overhead: list("1")}, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := asks(&corev1.Pod{Spec: tc.pod}, gpu)
			if ok != (tc.want != "") || (ok && got.String() != tc.want) {
				t.Errorf("asks for %s, %v, want %q", got.String(), ok, tc.want)
			}
			held, ok := Holds(&corev1.Pod{Spec: tc.pod}, []string{gpu, "amd.com/gpu"})[gpu]
			if ok != (tc.want != "") || (ok && held.String() != tc.want) {
				t.Errorf("holds %s, want %q", held.String(), tc.want)
			}
			over := corev1.Pod{Spec: tc.pod, Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
			if held := Holds(&over, []string{gpu}); len(held) != 0 {
				t.Errorf("a pod that is over holds %v", held)
			}
		})
	}
}
