package access

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/naming"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// PodSelector selects the pods of an object, and may select a few more: Serves tells which.
func PodSelector(object Object) labels.Selector {
	label := aiv1.LabelAIModel
	if KindOf(object) == resolve.KindInferenceService {
		label = aiv1.LabelInferenceService
	}
	return labels.SelectorFromSet(labels.Set{label: naming.LabelValue(object.GetName())})
}

// Serves says whether a pod serves an object. The pods of an InferenceService carry the label of its AIModel too.
func Serves(pod client.Object, object Object) bool {
	kind, name := index.OwnerOfPod(pod)
	return kind == KindOf(object) && name == object.GetName()
}

// PodReady says whether a pod passes its readiness probe and is not leaving.
func PodReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}
