package facts

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
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
	var asked atomic.Int32
	backend := fake.NewClientBuilder().WithObjects(holder("a", "gpu-0", 5, corev1.PodRunning), holder("b", "gpu-0", 1, corev1.PodPending),
		holder("c", "gpu-0", 2, corev1.PodSucceeded), holder("d", "gpu-0", 2, corev1.PodFailed), holder("e", "gpu-1", 9, corev1.PodRunning),
		holder("f", "small", 1, corev1.PodRunning)).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(object client.Object) []string {
			pod, _ := object.(*corev1.Pod)
			return []string{pod.Spec.NodeName}
		}).Build()
	counting := interceptor.NewClient(backend, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			asked.Add(1)
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
	if asked.Load() != 2 {
		t.Errorf("%d requests, want one for each node that is large enough", asked.Load())
	}
	healthy := diagnose.Facts{Nodes: before}
	if err := New(counting, counting).Usage(t.Context(), &healthy); err != nil || asked.Load() != 2 {
		t.Errorf("%d requests though nothing waits for a node, error %v", asked.Load(), err)
	}
}

// listing answers what pods there are on a node.
func listing(answer func(node string) ([]corev1.Pod, error)) client.Client {
	return interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			node, _ := (&client.ListOptions{}).ApplyOptions(opts).FieldSelector.RequiresExactMatch("spec.nodeName")
			pods, _ := list.(*corev1.PodList)
			var err error
			pods.Items, err = answer(node)
			return err
		}})
}

func TestUsageOfManyNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes, wantAsked int
		want             string
	}{
		"all of them": {500, 500,
			"the most that is free on a node that it may use is 2 of 8, on gpu-105 and 4 more; 59 are free in all, on 54 nodes. It may use 501 of 501 nodes"},
		"as many as can be": {2000, 500,
			"the most that is free on a node that it may use is 2 of 8, on gpu-1220 and 4 more; 59 are free in all, on 54 nodes" +
				" (500 of the 2000 nodes that are large enough were looked at). It may use 2001 of 2001 nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked, atOnce atomic.Int32
			var tooMany atomic.Bool
			reader := listing(func(node string) ([]corev1.Pod, error) {
				asked.Add(1)
				if atOnce.Add(1) > usageAtOnce {
					tooMany.Store(true)
				}
				defer atOnce.Add(-1)
				// Each tenth node has one left, and each hundredth two; the first has none.
				number, err := strconv.Atoi(strings.TrimPrefix(node, "gpu-"))
				if err != nil {
					return nil, err
				}
				held := int64(8)
				switch number = number * 500 / tc.nodes; {
				case number%100 == 5:
					held = 6
				case number%10 == 0 && number > 0:
					held = 7
				}
				return []corev1.Pod{*holder("a", node, held-1, corev1.PodRunning), *holder("b", node, 1, corev1.PodRunning)}, nil
			})
			facts := full(tc.nodes)
			if err := New(reader, reader).Usage(t.Context(), &facts); err != nil {
				t.Fatal(err)
			}
			if got := int(asked.Load()); got != tc.wantAsked {
				t.Errorf("%d requests, want %d", got, tc.wantAsked)
			}
			if tooMany.Load() {
				t.Errorf("more than %d requests at the same time", usageAtOnce)
			}
			if message := diagnose.Diagnose(facts).Primary().Message; !strings.HasSuffix(message, tc.want) {
				t.Errorf("message = %s\nwant it to end %s", message, tc.want)
			}
		})
	}
}

func TestUsageThatIsNotKnown(t *testing.T) {
	for _, nodes := range []int{1, maxUsageNodes + 1} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			var asked atomic.Int32
			forbidden := listing(func(string) ([]corev1.Pod, error) {
				asked.Add(1)
				return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil)
			})
			facts := full(nodes)
			err := New(forbidden, forbidden).Usage(t.Context(), &facts)
			if !apierrors.IsForbidden(err) || facts.Nodes[1].Free != nil {
				t.Errorf("error = %v; nodes %v", err, facts.Nodes[1])
			}
			if asked.Load() > 2*usageAtOnce {
				t.Errorf("%d requests, though the first was refused", asked.Load())
			}
		})
	}
}
