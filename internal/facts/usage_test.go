package facts

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

const gpu = "nvidia.com/gpu"

func gpus(count int64) corev1.ResourceList {
	return corev1.ResourceList{gpu: *resource.NewQuantity(count, resource.DecimalSI)}
}

// holder is a pod on a node that has accelerators.
func holder(name, node string, count int64, phase corev1.PodPhase) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: name}, Status: corev1.PodStatus{Phase: phase},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: gpus(count)}}}}}
}

// full is the facts about a pod that finds no room on nodes with eight accelerators, of which one is too small.
func full(nodes int) diagnose.Facts {
	waits := pod("llama-1", "x")
	waits.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: gpus(4)}}}
	waits.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, Message: "0/9 nodes are available: 9 Insufficient nvidia.com/gpu."}}
	facts := diagnose.Facts{Pods: []corev1.Pod{*waits}, Nodes: []diagnose.Node{{Name: "small", Allocatable: gpus(2)}}}
	for i := range nodes {
		facts.Nodes = append(facts.Nodes, diagnose.Node{Name: fmt.Sprint("gpu-", i), Allocatable: gpus(8)})
	}
	return facts
}

func TestUsage(t *testing.T) {
	asked := 0
	backend := fake.NewClientBuilder().WithObjects(holder("a", "gpu-0", 5, corev1.PodRunning), holder("b", "gpu-0", 1, corev1.PodPending),
		holder("c", "gpu-0", 2, corev1.PodSucceeded), holder("d", "gpu-0", 2, corev1.PodFailed), holder("e", "gpu-1", 9, corev1.PodRunning),
		holder("f", "small", 1, corev1.PodRunning)).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(object client.Object) []string {
			pod, _ := object.(*corev1.Pod)
			return []string{pod.Spec.NodeName}
		}).Build()
	counting := interceptor.NewClient(backend, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			asked++
			return c.List(ctx, list, opts...)
		}})
	facts := full(2)
	before := facts.Nodes
	if err := New(counting, counting).Usage(t.Context(), &facts); err != nil {
		t.Fatal(err)
	}
	want := full(2).Nodes
	want[1].Free, want[2].Free = gpus(2), gpus(0)
	if diff := cmp.Diff(want, facts.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if before[1].Free != nil {
		t.Error("the nodes of others were changed")
	}
	if asked != 2 {
		t.Errorf("%d requests, want one for each node that is large enough", asked)
	}
	healthy := diagnose.Facts{Nodes: before}
	if err := New(counting, counting).Usage(t.Context(), &healthy); err != nil || asked != 2 {
		t.Errorf("%d requests though nothing waits for a node, error %v", asked, err)
	}
}

func TestUsageThatIsNotKnown(t *testing.T) {
	forbidden := newStore()
	forbidden.fail = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
	for name, tc := range map[string]struct {
		nodes int
		want  string
	}{
		"it is forbidden":          {1, "forbidden"},
		"there are too many nodes": {maxUsageNodes + 1, "at most 100"},
	} {
		t.Run(name, func(t *testing.T) {
			facts := full(tc.nodes)
			err := forbidden.Usage(t.Context(), &facts)
			if err == nil || !strings.Contains(err.Error(), tc.want) || facts.Nodes[1].Free != nil {
				t.Errorf("error = %v, want %q; nodes %v", err, tc.want, facts.Nodes[1])
			}
		})
	}
}
