package watches

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
	"github.com/aimodel-operator/aimodel-operator/internal/render"
)

func TestEveryRenderedKindIsWatched(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), monitoringv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	var watched, rendered []string
	for _, object := range slices.Concat(ChildTypes(), OptionalChildTypes()) {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			t.Fatal(err)
		}
		watched = append(watched, gvk.String())
	}
	for _, gvk := range render.Kinds() {
		rendered = append(rendered, gvk.String())
	}
	slices.Sort(watched)
	slices.Sort(rendered)
	if diff := cmp.Diff(rendered, watched); diff != "" {
		t.Errorf("watched kinds (-rendered +watched):\n%s", diff)
	}
}

func annotated(key, value string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{key: value}}
}

func TestUpdates(t *testing.T) {
	plain := metav1.ObjectMeta{Generation: 1}
	condition := func(kind string, status corev1.ConditionStatus, minute int) appsv1.DeploymentCondition {
		return appsv1.DeploymentCondition{Type: appsv1.DeploymentConditionType(kind), Status: status,
			LastUpdateTime: metav1.NewTime(time.Unix(int64(minute)*60, 0)), Message: time.Unix(int64(minute), 0).String()}
	}
	deployment := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := &appsv1.Deployment{ObjectMeta: *plain.DeepCopy(), Status: appsv1.DeploymentStatus{
			Conditions: []appsv1.DeploymentCondition{condition("Progressing", corev1.ConditionTrue, 1)}}}
		if change != nil {
			change(d)
		}
		return d
	}
	service := func(spec corev1.ServiceSpec) *corev1.Service { return &corev1.Service{Spec: spec} }
	resolved := func(status metav1.ConditionStatus, message string) *aiv1.AIModel {
		return &aiv1.AIModel{ObjectMeta: plain, Status: aiv1.AIModelStatus{Conditions: []metav1.Condition{
			{Type: aiv1.ConditionResolved, Status: status, Message: message}}}}
	}
	pod := func(reason, message string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "server", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}}}
	}
	readyPod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	goingPod := pod("ErrImagePull", "x")
	goingPod.DeletionTimestamp = new(metav1.Now())
	controlled := []metav1.OwnerReference{{UID: "a", Controller: new(true)}}

	scaler := func(status corev1.ConditionStatus, message string) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScalingActive, Status: status, Message: message}}}}
	}
	for name, tc := range map[string]struct {
		predicate     predicate.Predicate
		before, after client.Object
		want          bool
	}{
		"primary: nothing": {Primary(), &aiv1.AIModel{ObjectMeta: plain}, &aiv1.AIModel{ObjectMeta: plain}, false},
		"primary: its status": {Primary(), &aiv1.AIModel{ObjectMeta: plain},
			&aiv1.AIModel{ObjectMeta: plain, Status: aiv1.AIModelStatus{InferenceURL: "x"}}, false},
		"primary: its spec":              {Primary(), &aiv1.AIModel{ObjectMeta: plain}, &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Generation: 2}}, true},
		"primary: paused":                {Primary(), &aiv1.AIModel{ObjectMeta: plain}, &aiv1.AIModel{ObjectMeta: annotated(aiv1.AnnotationPaused, "true")}, true},
		"primary: no longer paused":      {Primary(), &aiv1.AIModel{ObjectMeta: annotated(aiv1.AnnotationPaused, "true")}, &aiv1.AIModel{ObjectMeta: plain}, true},
		"primary: some annotation":       {Primary(), &aiv1.AIModel{ObjectMeta: plain}, &aiv1.AIModel{ObjectMeta: annotated("a", "b")}, false},
		"primary: a label":               {Primary(), &aiv1.AIModel{ObjectMeta: plain}, &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Generation: 1, Labels: map[string]string{"a": "b"}}}, false},
		"child: nothing":                 {Child(), deployment(nil), deployment(nil), false},
		"child: a resync":                {Child(), service(corev1.ServiceSpec{}), service(corev1.ServiceSpec{}), false},
		"child: a label":                 {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} }), true},
		"child: an annotation":           {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }), true},
		"child: its owner":               {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.OwnerReferences = controlled }), true},
		"child: is being deleted":        {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.DeletionTimestamp = new(metav1.Now()) }), true},
		"child: managed fields":          {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.ResourceVersion = "2" }), false},
		"deployment: its spec":           {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.Generation = 2 }), true},
		"deployment: was observed":       {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.Status.ObservedGeneration = 1 }), true},
		"deployment: a replica":          {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.Status.Replicas = 1 }), true},
		"deployment: an updated replica": {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }), true},
		"deployment: a ready replica":    {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.Status.ReadyReplicas = 1 }), true},
		"deployment: an available one":   {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }), true},
		"deployment: an unavailable one": {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.Status.UnavailableReplicas = 1 }), false},
		"deployment: times and words":    {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) { d.Status.Conditions[0] = condition("Progressing", corev1.ConditionTrue, 2) }), false},
		"deployment: a condition": {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) {
			d.Status.Conditions[0] = condition("Progressing", corev1.ConditionFalse, 1)
		}), true},
		"deployment: one condition more": {Child(), deployment(nil), deployment(func(d *appsv1.Deployment) {
			d.Status.Conditions = append(d.Status.Conditions, condition("ReplicaFailure", corev1.ConditionTrue, 1))
		}), true},
		"service: its spec":               {Child(), service(corev1.ServiceSpec{}), service(corev1.ServiceSpec{ClusterIP: "None"}), true},
		"service: nil or empty":           {Child(), service(corev1.ServiceSpec{}), service(corev1.ServiceSpec{Ports: []corev1.ServicePort{}}), false},
		"service: its status":             {Child(), service(corev1.ServiceSpec{}), &corev1.Service{Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "1.2.3.4"}}}}}, false},
		"service account: mounts a token": {Child(), &corev1.ServiceAccount{}, &corev1.ServiceAccount{AutomountServiceAccountToken: new(true)}, true},
		"service account: a Secret":       {Child(), &corev1.ServiceAccount{}, &corev1.ServiceAccount{Secrets: []corev1.ObjectReference{{Name: "x"}}}, false},
		"autoscaler: its spec": {Child(), &autoscalingv2.HorizontalPodAutoscaler{},
			&autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 5}}, true},
		"autoscaler: its status": {Child(), &autoscalingv2.HorizontalPodAutoscaler{},
			&autoscalingv2.HorizontalPodAutoscaler{Status: autoscalingv2.HorizontalPodAutoscalerStatus{CurrentReplicas: 5}}, false},
		"autoscaler: it scales":            {Child(), scaler("True", ""), scaler("True", "other words"), false},
		"autoscaler: it does not any more": {Child(), scaler("True", ""), scaler("False", ""), true},
		"autoscaler: it tells":             {Child(), &autoscalingv2.HorizontalPodAutoscaler{}, scaler("False", ""), true},
		"budget: its spec": {Child(), &policyv1.PodDisruptionBudget{ObjectMeta: plain},
			&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Generation: 2}}, true},
		"budget: its status": {Child(), &policyv1.PodDisruptionBudget{ObjectMeta: plain},
			&policyv1.PodDisruptionBudget{ObjectMeta: plain, Status: policyv1.PodDisruptionBudgetStatus{CurrentHealthy: 1}}, false},

		"pod: is in trouble":          {Pod(), pod("ContainerCreating", ""), pod("ErrImagePull", "x"), true},
		"pod: waits for another pull": {Pod(), pod("ErrImagePull", "x"), pod("ImagePullBackOff", `Back-off pulling image "a": ErrImagePull: x`), false},
		"pod: another trouble":        {Pod(), pod("ErrImagePull", "x"), pod("CreateContainerConfigError", "x"), true},
		"pod: other words":            {Pod(), pod("ErrImagePull", "x"), pod("ErrImagePull", "y"), true},
		"pod: got over it":            {Pod(), pod("ErrImagePull", "x"), readyPod, true},
		"pod: leaves":                 {Pod(), pod("ErrImagePull", "x"), goingPod, true},
		"pod: became ready":           {Pod(), pod("ContainerCreating", ""), readyPod, false},
		"pod: is no pod":              {Pod(), service(corev1.ServiceSpec{}), service(corev1.ServiceSpec{}), false},

		"model: nothing":         {Model(), resolved("True", ""), resolved("True", ""), false},
		"model: its spec":        {Model(), resolved("True", ""), &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: resolved("True", "").Status}, true},
		"model: resolves":        {Model(), resolved("False", "x"), resolved("True", ""), true},
		"model: another cause":   {Model(), resolved("False", "x"), resolved("False", "y"), true},
		"model: was looked at":   {Model(), &aiv1.AIModel{ObjectMeta: plain}, resolved("True", ""), true},
		"model: became ready":    {Model(), resolved("True", ""), &aiv1.AIModel{ObjectMeta: plain, Status: aiv1.AIModelStatus{InferenceURL: "x", Conditions: resolved("True", "").Status.Conditions}}, false},
		"model: is another type": {Model(), resolved("True", ""), service(corev1.ServiceSpec{}), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.predicate.Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
				t.Errorf("passes = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestOtherEvents(t *testing.T) {
	troubled := &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}}}
	for name, tc := range map[string]struct {
		predicate                           predicate.Predicate
		object                              client.Object
		wantCreate, wantInitial, wantDelete bool
	}{
		"primary":       {Primary(), &aiv1.AIModel{}, true, true, true},
		"child":         {Child(), &corev1.Service{}, true, false, true},
		"pod":           {Pod(), &corev1.Pod{}, false, false, false},
		"a pod in need": {Pod(), troubled, true, false, true},
		"model":         {Model(), &aiv1.AIModel{}, true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.predicate.Create(event.CreateEvent{Object: tc.object}); got != tc.wantCreate {
				t.Errorf("create passes = %v, want %v", got, tc.wantCreate)
			}
			if got := tc.predicate.Create(event.CreateEvent{Object: tc.object, IsInInitialList: true}); got != tc.wantInitial {
				t.Errorf("initial create passes = %v, want %v", got, tc.wantInitial)
			}
			if got := tc.predicate.Delete(event.DeleteEvent{Object: tc.object}); got != tc.wantDelete {
				t.Errorf("delete passes = %v, want %v", got, tc.wantDelete)
			}
			if tc.predicate.Generic(event.GenericEvent{Object: tc.object}) {
				t.Error("a generic event passes")
			}
		})
	}
}

// woken is a queue that remembers what was put into it.
type woken struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	names []string
	after []time.Duration
}

func (w *woken) AddAfter(request reconcile.Request, after time.Duration) {
	w.names, w.after = append(w.names, request.String()), append(w.after, after)
}

func TestWhoIsWoken(t *testing.T) {
	child := func(apiVersion, kind, name string, controller bool) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "x", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: apiVersion, Kind: kind, Name: name, Controller: &controller}}}}
	}
	pod := func(label, owner string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "x",
			Labels: map[string]string{label: "l"}, Annotations: map[string]string{aiv1.AnnotationOwner: owner}}}
	}
	ours := aiv1.GroupVersion.String()
	for name, tc := range map[string]struct {
		handler handler.EventHandler
		object  client.Object
		want    []string
	}{
		"the owner of a child":             {ToOwner("AIModel"), child(ours, "AIModel", "llama", true), []string{"team-a/llama"}},
		"of a later version of our group":  {ToOwner("AIModel"), child(aiv1.Group+"/v2", "AIModel", "llama", true), []string{"team-a/llama"}},
		"nobody, of another kind":          {ToOwner("AIModel"), child(ours, "InferenceService", "llama", true), nil},
		"nobody, of another group":         {ToOwner("AIModel"), child("other.example.com/v1", "AIModel", "llama", true), nil},
		"nobody, for a broken group":       {ToOwner("AIModel"), child("a/b/c", "AIModel", "llama", true), nil},
		"nobody, where none is in charge":  {ToOwner("AIModel"), child(ours, "AIModel", "llama", false), nil},
		"nobody, for a foreign child":      {ToOwner("AIModel"), &corev1.Service{}, nil},
		"the model of a pod":               {PodToOwner("AIModel"), pod(aiv1.LabelAIModel, "a.long.name"), []string{"team-a/a.long.name"}},
		"the service of a pod":             {PodToOwner("InferenceService"), pod(aiv1.LabelInferenceService, "chat"), []string{"team-a/chat"}},
		"nobody, for a pod of the others":  {PodToOwner("AIModel"), pod(aiv1.LabelInferenceService, "chat"), nil},
		"nobody, for a pod without a mark": {PodToOwner("AIModel"), &corev1.Pod{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for what, send := range map[string]func(*woken){
				"create": func(q *woken) { tc.handler.Create(t.Context(), event.CreateEvent{Object: tc.object}, q) },
				"update": func(q *woken) {
					tc.handler.Update(t.Context(), event.UpdateEvent{ObjectOld: tc.object, ObjectNew: tc.object}, q)
				},
				"delete": func(q *woken) { tc.handler.Delete(t.Context(), event.DeleteEvent{Object: tc.object}, q) },
			} {
				q := &woken{}
				send(q)
				if diff := cmp.Diff(tc.want, q.names); diff != "" {
					t.Errorf("%s wakes (-want +got):\n%s", what, diff)
				}
				for _, after := range q.after {
					if after != Gather {
						t.Errorf("%s wakes after %s, want %s", what, after, Gather)
					}
				}
			}
		})
	}
}

func TestAnOwnerThatLostItsChildIsWokenToo(t *testing.T) {
	controlled := func(name types.UID) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: aiv1.GroupVersion.String(), Kind: "AIModel", Name: string(name), UID: name, Controller: new(true)}}}}
	}
	for name, tc := range map[string]struct {
		before, after *corev1.Service
		want          []string
	}{
		"it was taken away":         {controlled("a"), &corev1.Service{}, []string{"team-a/a"}},
		"it was given to another":   {controlled("a"), controlled("b"), []string{"team-a/b", "team-a/a"}},
		"it was found":              {&corev1.Service{}, controlled("b"), []string{"team-a/b"}},
		"nothing changed about it ": {controlled("a"), controlled("a"), []string{"team-a/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := &woken{}
			ToOwner("AIModel").Update(t.Context(), event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}, q)
			if diff := cmp.Diff(tc.want, q.names); diff != "" {
				t.Errorf("wakes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewObjectsComeBeforeWhatBecameOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := priorityqueue.New[reconcile.Request]("order")
		defer q.ShutDown()
		child := func(owner string) *corev1.Service {
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
				{APIVersion: aiv1.GroupVersion.String(), Kind: "AIModel", Name: owner, Controller: new(true)}}}}
		}
		model := func(name, version string) *aiv1.AIModel {
			return &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: version, Generation: 1}}
		}
		old, waiting := model("old", "1"), model("waiting", "1")
		old.Status.ObservedGeneration = 1
		ToOwner("AIModel").Create(t.Context(), event.CreateEvent{Object: child("served")}, q)
		ToOwner("AIModel").Create(t.Context(), event.CreateEvent{Object: child("changed")}, q)
		<-time.After(2 * Gather)
		known := &handler.EnqueueRequestForObject{}
		for _, object := range []*aiv1.AIModel{old, waiting} {
			for _, h := range []handler.EventHandler{known, pending()} {
				h.Create(t.Context(), event.CreateEvent{Object: object, IsInInitialList: true}, q)
			}
		}
		known.Create(t.Context(), event.CreateEvent{Object: model("new", "1")}, q)
		known.Update(t.Context(), event.UpdateEvent{ObjectOld: model("changed", "1"), ObjectNew: model("changed", "2")}, q)
		synctest.Wait()
		var order []string
		for range 5 {
			next, _ := q.Get()
			order = append(order, next.Name)
		}
		if diff := cmp.Diff([]string{"waiting", "new", "changed", "served", "old"}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

func TestWhatIsCreatedLaterIsWokenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := priorityqueue.New[reconcile.Request]("once")
		defer q.ShutDown()
		created := event.CreateEvent{Object: &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Name: "new", Generation: 1}}}
		for _, inList := range []bool{false, true} {
			created.IsInInitialList = inList
			pending().Create(t.Context(), created, q)
			synctest.Wait()
			if got := q.Len() > 0; got != inList {
				t.Errorf("in the initial list: %v, woken: %v", inList, got)
			}
		}
	})
}
