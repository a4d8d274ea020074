package setup

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/watches"
)

// cacheOptions caches the two kinds, and of everything else only what carries the operator's label. Memory then
// grows with what the operator keeps, not with the cluster.
func cacheOptions(namespaces []string) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{aiv1.LabelManagedBy: aiv1.ManagedBy})
	byObject := map[client.Object]cache.ByObject{
		&aiv1.AIModel{}:          {Label: labels.Everything()},
		&aiv1.InferenceService{}: {Label: labels.Everything()},
		&corev1.Pod{}:            {Label: ours, Transform: slimPod},
	}
	for _, child := range watches.ChildTypes() {
		byObject[child] = cache.ByObject{Label: ours}
	}
	options := cache.Options{
		ByObject: byObject,
		// For the optional kinds: to name them above would need them to be served.
		DefaultLabelSelector: ours,
		DefaultTransform:     cache.TransformStripManagedFields(),
	}
	if len(namespaces) > 0 {
		options.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range namespaces {
			options.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	return options
}

// slimPod keeps of a pod what diagnosis and ownership read.
func slimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{
		TypeMeta: pod.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         pod.Namespace,
			Name:              pod.Name,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp,
			Labels:            keep(pod.Labels, aiv1.LabelAIModel, aiv1.LabelInferenceService, aiv1.LabelManagedBy),
			Annotations:       keep(pod.Annotations, aiv1.AnnotationOwner),
		},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Conditions:            pod.Status.Conditions,
			Reason:                pod.Status.Reason,
			Message:               pod.Status.Message,
			InitContainerStatuses: pod.Status.InitContainerStatuses,
			ContainerStatuses:     pod.Status.ContainerStatuses,
		},
	}
	slim.Spec.InitContainers = slimContainers(pod.Spec.InitContainers)
	slim.Spec.Containers = slimContainers(pod.Spec.Containers)
	return slim, nil
}

func slimContainers(containers []corev1.Container) []corev1.Container {
	slim := make([]corev1.Container, len(containers))
	for i := range containers {
		slim[i] = corev1.Container{
			Name:      containers[i].Name,
			Image:     containers[i].Image,
			Resources: corev1.ResourceRequirements{Limits: containers[i].Resources.Limits},
		}
	}
	return slim
}

func keep(from map[string]string, names ...string) map[string]string {
	kept := make(map[string]string, len(names))
	for _, name := range names {
		if value, ok := from[name]; ok {
			kept[name] = value
		}
	}
	return kept
}

// cachedTypes lists every type that the operator reads from the cache.
func cachedTypes() []client.Object {
	return append(watches.ChildTypes(), &aiv1.AIModel{}, &aiv1.InferenceService{}, &corev1.Pod{})
}
