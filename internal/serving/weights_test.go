package serving

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// serves is a Deployment whose server mounts the claim "weights", an empty directory and a ConfigMap.
func serves(initContainers ...corev1.Container) *appsv1.Deployment {
	claim := func(readOnly bool) corev1.VolumeSource {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "weights", ReadOnly: readOnly}}
	}
	return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: initContainers,
		Containers:     []corev1.Container{{Name: "server", VolumeMounts: []corev1.VolumeMount{{Name: "model"}, {Name: "home"}, {Name: "config"}}}},
		Volumes: []corev1.Volume{
			{Name: "model", VolumeSource: claim(true)},
			{Name: "fill", VolumeSource: claim(false)},
			{Name: "home", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
		},
	}}}}
}

func loader(name string, mounts ...corev1.VolumeMount) corev1.Container {
	return corev1.Container{Name: name, VolumeMounts: mounts}
}

func TestLoadersAreInitContainersThatFillWhatTheServerMounts(t *testing.T) {
	sidecar := loader("sidecar", corev1.VolumeMount{Name: "home"})
	sidecar.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	deployment := serves(
		loader("mounts-nothing"), sidecar,
		loader("fills-the-claim", corev1.VolumeMount{Name: "fill"}),
		loader("fills-a-directory", corev1.VolumeMount{Name: "scratch"}, corev1.VolumeMount{Name: "home"}),
		loader("reads-a-directory", corev1.VolumeMount{Name: "home", ReadOnly: true}),
		loader("reads-the-claim", corev1.VolumeMount{Name: "model"}),
		loader("reads-the-configuration", corev1.VolumeMount{Name: "config"}),
		loader("writes-for-itself", corev1.VolumeMount{Name: "scratch"}),
		loader("mounts-what-is-not", corev1.VolumeMount{Name: "nowhere"}))
	if diff := cmp.Diff([]string{"fills-the-claim", "fills-a-directory"}, loadersOf(deployment)); diff != "" {
		t.Errorf("loaders (-want +got):\n%s", diff)
	}
	if got := loadersOf(nil); got != nil {
		t.Errorf("without a Deployment they are %q", got)
	}
}

func TestTheTimeOfTheWeightsIsOneOfItsOwn(t *testing.T) {
	created := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	ran := func(name string, from, to int) corev1.ContainerStatus {
		at := func(second int) metav1.Time { return metav1.NewTime(created.Add(time.Duration(second) * time.Second)) }
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: at(from), FinishedAt: at(to)}}}
	}
	again := ran("fetch", 31, 60)
	again.RestartCount = 1
	still := corev1.ContainerStatus{Name: "fetch", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	home := corev1.VolumeMount{Name: "home"}
	one := []corev1.Container{loader("fetch", home)}
	// The pod got its node after 1 s and had its sandbox after 3 s, its init containers were done after 64 s.
	for name, tc := range map[string]struct {
		containers    []corev1.Container
		statuses      []corev1.ContainerStatus
		wantPreparing int64
		want          *int64
	}{
		"no init container":            {nil, nil, 2, nil},
		"one that fetches":             {one, []corev1.ContainerStatus{ran("fetch", 4, 60)}, 63 - 56, ptr.To[int64](56)},
		"two that fetch":               {[]corev1.Container{one[0], loader("tune", home)}, []corev1.ContainerStatus{ran("fetch", 4, 40), ran("tune", 41, 60)}, 63 - 55, ptr.To[int64](55)},
		"one beside a mesh's":          {one, []corev1.ContainerStatus{ran("mesh-init", 4, 8), ran("fetch", 9, 60)}, 63 - 51, ptr.To[int64](51)},
		"one that does something else": {[]corev1.Container{loader("warm-up")}, []corev1.ContainerStatus{ran("warm-up", 4, 60)}, 63, nil},
		"one that had to try again":    {one, []corev1.ContainerStatus{again}, 63, nil},
		"one whose status is unknown":  {one, nil, 63, nil},
		"one that is running anew":     {one, []corev1.ContainerStatus{still}, 63, nil},
		"one that tells no time":       {one, []corev1.ContainerStatus{{Name: "fetch", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}, 63, nil},
		"one whose clock went wrong":   {one, []corev1.ContainerStatus{ran("fetch", 4, 100)}, 0, ptr.To[int64](96)},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := serves(tc.containers...)
			pod := started("1", "a", func(pod *corev1.Pod) {
				pod.Spec.InitContainers, pod.Status.InitContainerStatuses = tc.containers, tc.statuses
				if len(tc.containers) > 0 {
					pod.Status.Conditions[2].LastTransitionTime = metav1.NewTime(created.Add(64 * time.Second))
				}
			})
			got := phasesOf(diagnose.Facts{Pods: []corev1.Pod{pod}, Revision: "a", Deployment: deployment})
			if diff := cmp.Diff(tc.want, got.WeightsSeconds); diff != "" {
				t.Errorf("weights (-want +got):\n%s", diff)
			}
			if *got.PreparingSeconds != tc.wantPreparing {
				t.Errorf("preparing took %d s, want %d", *got.PreparingSeconds, tc.wantPreparing)
			}
		})
	}
}
