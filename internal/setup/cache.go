package setup

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/watches"
)

// cacheOptions caches the operator's kinds, and of everything else only what carries the operator's label. Memory then
// grows with what the operator keeps, not with the cluster.
func cacheOptions(namespaces []string) cache.Options {
	ours := labels.SelectorFromSet(labels.Set{aiv1.LabelManagedBy: aiv1.ManagedBy})
	byObject := map[client.Object]cache.ByObject{
		&aiv1.AIModel{}:           {Label: labels.Everything()},
		&aiv1.InferenceService{}:  {Label: labels.Everything()},
		&v1alpha1.ModelRegistry{}: {Label: labels.Everything()},
		&corev1.Pod{}:             {Label: ours, Transform: slimPod},
		replicaSets():             {Label: ours, Transform: slimMetadata},
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

// cachedTypes lists every type that the operator reads from the cache.
func cachedTypes() []client.Object {
	return append(watches.ChildTypes(), &aiv1.AIModel{}, &aiv1.InferenceService{}, &v1alpha1.ModelRegistry{}, &corev1.Pod{}, replicaSets())
}

// replicaSets stands for ReplicaSets, of which only the metadata is read: which revision has which pods.
func replicaSets() *metav1.PartialObjectMetadata {
	sets := &metav1.PartialObjectMetadata{}
	sets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	return sets
}
