// Package reach brings what the pods of a model say and answer to whoever asks: their logs, and a local port that leads to
// them. Everything goes through the API server. It changes nothing.
package reach

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
)

// Pods lists the pods that serve an object, by name.
func Pods(ctx context.Context, reader client.Reader, object access.Object) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	err := reader.List(ctx, pods, client.InNamespace(object.GetNamespace()),
		client.MatchingLabelsSelector{Selector: access.PodSelector(object)})
	if err != nil {
		return nil, err
	}
	serving := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !access.Serves(&pod, object) })
	slices.SortFunc(serving, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return serving, nil
}

// NoPodsError says that an object has no pods, or none that will do.
type NoPodsError struct {
	Object access.Object
	// Lack says what there is none of.
	Lack string
}

func (e *NoPodsError) Error() string {
	name := access.Short(access.KindOf(e.Object), e.Object.GetName())
	return fmt.Sprintf("%s has no %s: `kubectl aimodel why %s` tells the reason", name, e.Lack, name)
}
