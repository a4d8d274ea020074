package facts

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
)

const namespace = "team-a"

// store is what the gatherer reads, by way of both of its readers. It counts and can refuse.
type store struct {
	*Gatherer
	reads int
	fail  error
}

func newStore(objects ...client.Object) *store {
	s := &store{}
	builder := fake.NewClientBuilder().WithObjects(objects...).
		WithIndex(&corev1.Pod{}, index.PodOwner, func(object client.Object) []string {
			kind, name := index.OwnerOfPod(object)
			return []string{index.PodOwnerKey(kind, name)}
		}).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(object client.Object) []string {
			event, _ := object.(*corev1.Event)
			return []string{string(event.InvolvedObject.UID)}
		})
	read := interceptor.NewClient(builder.Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			s.reads++
			if s.fail != nil {
				return s.fail
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			s.reads++
			if s.fail != nil {
				return s.fail
			}
			return c.List(ctx, list, opts...)
		},
	})
	s.Gatherer = New(read, read)
	return s
}

func pod(name, hash string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name),
		Labels:      map[string]string{aiv1.LabelAIModel: "llama", diagnose.TemplateHash: hash},
		Annotations: map[string]string{aiv1.AnnotationOwner: "llama"}}}
}

func event(name, of, reason string, count int32) *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Reason: reason, Message: "words", Count: count,
		InvolvedObject: corev1.ObjectReference{UID: types.UID(of)}}
}

func replicaSet(name string, revision int, owner types.UID) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		Labels:          map[string]string{"app": "llama", diagnose.TemplateHash: name},
		Annotations:     map[string]string{RevisionAnnotation: fmt.Sprint(revision)},
		OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}}}
}

func TestPods(t *testing.T) {
	deployment := func(revision string, labels map[string]string) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "llama", UID: "uid",
			Annotations: map[string]string{RevisionAnnotation: revision}}}
		if labels != nil {
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		}
		return d
	}
	app := map[string]string{"app": "llama"}
	sets := []client.Object{replicaSet("old", 1, "uid"), replicaSet("new", 2, "uid"), replicaSet("foreign", 2, "other")}
	for name, tc := range map[string]struct {
		deployment *appsv1.Deployment
		objects    []client.Object
		want       string
	}{
		"it has a revision":                  {deployment("2", app), sets, "new"},
		"it was rolled back":                 {deployment("1", app), sets, "old"},
		"its ReplicaSet is not cached yet":   {deployment("3", app), sets, notCachedYet},
		"it has no revision yet":             {deployment("", app), sets, ""},
		"it has a revision that is no count": {deployment("x", app), sets, ""},
		"it selects nothing":                 {deployment("2", nil), sets, ""},
	} {
		t.Run(name, func(t *testing.T) {
			other := pod("other-1", "new")
			other.Annotations[aiv1.AnnotationOwner] = "other"
			s := newStore(append(tc.objects, pod("llama-1", "old"), pod("llama-2", "new"), other)...)
			facts, err := s.Pods(t.Context(), "AIModel", "llama", tc.deployment)
			if err != nil {
				t.Fatal(err)
			}
			if facts.Revision != tc.want || len(facts.Pods) != 2 || facts.Now.IsZero() || facts.Deployment != tc.deployment {
				t.Errorf("revision = %q with %d pods, want %q with 2", facts.Revision, len(facts.Pods), tc.want)
			}
			s.fail = apierrors.NewTimeoutError("slow", 1)
			if _, err := s.Pods(t.Context(), "AIModel", "llama", tc.deployment); !apierrors.IsTimeout(err) {
				t.Errorf("error = %v, want the reader's", err)
			}
		})
	}
}

func TestComplete(t *testing.T) {
	class := "fast"
	last := metav1.NewTime(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC))
	counted, series := event("a", "llama-1", "Unhealthy", 3), event("b", "llama-1", "Killing", 0)
	counted.LastTimestamp = last
	series.Series, series.EventTime = &corev1.EventSeries{Count: 5, LastObservedTime: metav1.NewMicroTime(last.Time)}, metav1.NewMicroTime(last.Add(-time.Hour))
	s := newStore(counted, series, event("c", "other", "Unhealthy", 1), event("d", "claim", "ProvisioningFailed", 1),
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pending", UID: "claim"},
			Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}},
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bound"},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-1", Labels: map[string]string{"zone": "a"}},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "gpu"}}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
				Allocatable: corev1.ResourceList{"gpu": resource.MustParse("8")}}})
	needs := diagnose.Needs{EventsOf: []types.UID{"llama-1", "gone"}, Claims: []string{"bound", "missing", "pending"}, Nodes: true}
	facts := diagnose.Facts{Pods: []corev1.Pod{*pod("llama-1", "x"), *pod("llama-2", "x")}}
	s.Complete(t.Context(), namespace, &facts, needs)

	wantEvents := map[types.UID][]diagnose.Event{
		"llama-1": {{Reason: "Unhealthy", Message: "words", Count: 3, Last: last.Time}, {Reason: "Killing", Message: "words", Count: 5, Last: last.Time}},
		"claim":   {{Reason: "ProvisioningFailed", Message: "words", Count: 1}},
	}
	if diff := cmp.Diff(wantEvents, facts.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	wantClaims := map[string]diagnose.Claim{"missing": {Missing: true}, "bound": {Phase: corev1.ClaimBound},
		"pending": {UID: "claim", Phase: corev1.ClaimPending, StorageClass: "fast"}}
	if diff := cmp.Diff(wantClaims, facts.Claims); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	wantNodes := []diagnose.Node{{Name: "gpu-1", Labels: map[string]string{"zone": "a"}, Taints: []corev1.Taint{{Key: "gpu"}}, Ready: true,
		Allocatable: corev1.ResourceList{"gpu": resource.MustParse("8")}}}
	if diff := cmp.Diff(wantNodes, facts.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}

	// Asked again at once, all is remembered; a pod that has changed is asked about again.
	s.reads = 0
	s.Complete(t.Context(), namespace, &facts, needs)
	if s.reads != 0 {
		t.Errorf("%d reads of what is known", s.reads)
	}
	facts.Pods[0].ResourceVersion = "8"
	s.Complete(t.Context(), namespace, &facts, needs)
	if s.reads != 1 {
		t.Errorf("%d reads after a change of the pod, want 1", s.reads)
	}
	s.reads = 0
	healthy := diagnose.Facts{Pods: facts.Pods}
	s.Complete(t.Context(), namespace, &healthy, diagnose.Needs{})
	if s.reads != 0 || healthy.Nodes != nil {
		t.Errorf("%d reads though nothing is needed", s.reads)
	}
}

func TestWhatCannotBeReadIsLeftOut(t *testing.T) {
	needs := diagnose.Needs{EventsOf: []types.UID{"llama-1"}, Claims: []string{"weights"}, Nodes: true, Jobs: true}
	for name, tc := range map[string]struct {
		fail      error
		wantReads int
	}{
		"forbidden is not asked for again soon": {apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil), 4},
		"a slow server is":                      {apierrors.NewTimeoutError("slow", 1), 8},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			s.fail = tc.fail
			for range 2 {
				facts := diagnose.Facts{Pods: []corev1.Pod{*pod("llama-1", "x")}}
				s.Complete(t.Context(), namespace, &facts, needs)
				if facts.Nodes != nil || facts.Jobs != nil || len(facts.Claims) != 0 || len(facts.Events["llama-1"]) != 0 {
					t.Errorf("facts = %+v", facts)
				}
			}
			if s.reads != tc.wantReads {
				t.Errorf("%d reads, want %d", s.reads, tc.wantReads)
			}
		})
	}
}

func TestManyNodesAreReadPageByPage(t *testing.T) {
	s := newStore()
	pages := 0
	s.Live = interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			options := (&client.ListOptions{}).ApplyOptions(opts)
			if options.Limit != nodePage || (options.Continue == "") != (pages == 0) {
				t.Errorf("page %d is asked for with %+v", pages, options)
			}
			nodes, _ := list.(*corev1.NodeList)
			nodes.Items = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(pages)}}}
			pages++
			if pages < 3 {
				nodes.Continue = "next"
			}
			return nil
		},
	})
	facts := diagnose.Facts{}
	s.Complete(t.Context(), namespace, &facts, diagnose.Needs{Nodes: true})
	if len(facts.Nodes) != 3 {
		t.Errorf("nodes = %v, want those of three pages", facts.Nodes)
	}
}

func TestAClusterWithoutNodesIsKnown(t *testing.T) {
	facts := diagnose.Facts{}
	newStore().Complete(t.Context(), namespace, &facts, diagnose.Needs{Nodes: true})
	if facts.Nodes == nil {
		t.Error("no nodes are the same as not known")
	}
}

func TestNodesThatPodsKnowBetterAreReadAgain(t *testing.T) {
	s := newStore()
	now := time.Now()
	s.Now = func() time.Time { return now }
	waits := pod("llama-1", "x")
	waits.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
		Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu."}}
	for _, step := range []struct {
		name  string
		after time.Duration
		want  int
	}{
		{"the first time", 0, 1},
		{"at once, what was read counts", 0, 0},
		{"a moment later it is read again", 2 * time.Second, 1},
	} {
		now = now.Add(step.after)
		s.reads = 0
		facts := diagnose.Facts{Pods: []corev1.Pod{*waits}}
		s.Complete(t.Context(), namespace, &facts, diagnose.Needs{Nodes: true})
		if s.reads != step.want {
			t.Errorf("%s: %d reads, want %d", step.name, s.reads, step.want)
		}
	}
}
