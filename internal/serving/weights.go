package serving

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/aimodel-operator/aimodel-operator/internal/volumes"
)

// weightsSeconds is how long the loaders of a pod ran. Nil: there is none, or one of them was started more than once, and then
// only its last run is known.
func weightsSeconds(deployment *appsv1.Deployment, pod *corev1.Pod) *int64 {
	var sum *int64
	for _, name := range loadersOf(deployment) {
		at := slices.IndexFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
		if at < 0 {
			return nil
		}
		status := &pod.Status.InitContainerStatuses[at]
		if status.State.Terminated == nil || status.RestartCount > 0 {
			return nil
		}
		took := seconds(status.State.Terminated.StartedAt.Time, status.State.Terminated.FinishedAt.Time)
		if took == nil {
			return nil
		}
		sum = ptr.To(ptr.Deref(sum, 0) + *took)
	}
	return sum
}

// loadersOf names the init containers that end before the server starts and write to what it mounts: what they leave there is
// what it serves. Those that others add to pods, such as a service mesh, are not in the Deployment.
func loadersOf(deployment *appsv1.Deployment) []string {
	if deployment == nil || len(deployment.Spec.Template.Spec.Containers) == 0 {
		return nil
	}
	spec := &deployment.Spec.Template.Spec
	served := volumes.Mounted(spec, &spec.Containers[0])
	var names []string
	for i := range spec.InitContainers {
		container := &spec.InitContainers[i]
		fills := slices.ContainsFunc(volumes.Writable(spec, container), func(storage volumes.Storage) bool {
			return slices.Contains(served, storage)
		})
		if fills && ptr.Deref(container.RestartPolicy, "") != corev1.ContainerRestartPolicyAlways {
			names = append(names, container.Name)
		}
	}
	return names
}
