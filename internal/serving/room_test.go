package serving

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

func TestRoomIsMadeOnAFullPoolOnly(t *testing.T) {
	stuck := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama-2",
			Labels: map[string]string{aiv1.LabelAIModel: "llama"}, Annotations: map[string]string{aiv1.AnnotationOwner: "llama"}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no GPU"}}},
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}}}
	asking := func(count string) *corev1.Pod {
		pod := stuck.DeepCopy()
		pod.Status.Conditions[0].Message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
		pod.Spec.Containers = []corev1.Container{{Name: "server", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(count)}}}}
		return pod
	}
	for name, tc := range map[string]struct {
		accelerator *aiv1.Accelerator
		deployment  *appsv1.Deployment
		pods        []client.Object
		want        bool
	}{
		"the new pod finds no accelerator":   {&aiv1.Accelerator{Count: 1}, counts(1, 2, 1, 1, 1), []client.Object{stuck}, true},
		"a node has as many":                 {&aiv1.Accelerator{Count: 8}, counts(1, 2, 1, 1, 1), []client.Object{asking("8"), node}, true},
		"no node has as many":                {&aiv1.Accelerator{Count: 9}, counts(1, 2, 1, 1, 1), []client.Object{asking("9"), node}, false},
		"the nodes are not known":            {&aiv1.Accelerator{Count: 9}, counts(1, 2, 1, 1, 1), []client.Object{asking("9")}, true},
		"it has found one":                   {&aiv1.Accelerator{Count: 1}, counts(1, 2, 1, 1, 1), nil, false},
		"there is no surplus":                {&aiv1.Accelerator{Count: 1}, counts(1, 1, 1, 0, 0), []client.Object{stuck}, false},
		"the old pods are gone":              {&aiv1.Accelerator{Count: 1}, counts(1, 2, 2, 1, 1), []client.Object{stuck}, false},
		"no accelerator is asked for":        {nil, counts(1, 2, 1, 1, 1), []client.Object{stuck}, false},
		"nothing runs yet, and no node fits": {&aiv1.Accelerator{Count: 1}, nil, []client.Object{stuck}, false},
	} {
		t.Run(name, func(t *testing.T) {
			scope := scopeOf(model())
			scope.Inputs = &resolve.Inputs{Accelerator: tc.accelerator}
			objects := tc.pods
			if tc.deployment != nil {
				tc.deployment.Namespace, tc.deployment.Name = "team-a", "llama"
				tc.deployment.OwnerReferences = []metav1.OwnerReference{scope.ownerReference()}
				objects = append([]client.Object{tc.deployment}, objects...)
			}
			if err := newPipeline(t, newCluster(t, objects...)).makeRoom(t.Context(), scope); err != nil {
				t.Fatal(err)
			}
			if got := scope.Inputs.ReplaceInPlace; got != tc.want {
				t.Errorf("replaces in place: %v, want %v", got, tc.want)
			}
		})
	}
}
