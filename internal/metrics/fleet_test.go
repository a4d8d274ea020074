package metrics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// serveFleet makes the metrics count the objects, and gives what changes when a standby is elected.
func serveFleet(tb testing.TB, failing error, objects ...client.Object) (elect func()) {
	tb.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), aiv1.AddToScheme(scheme)); err != nil {
		tb.Fatal(err)
	}
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	cache := interceptor.NewClient(store, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*appsv1.DeploymentList); ok && failing != nil {
				return failing
			}
			return c.List(ctx, list, opts...)
		},
	})
	elected := make(chan struct{})
	CountFleet(cache, elected)
	tb.Cleanup(func() { fleet.source.Store(nil) })
	return func() { close(elected) }
}

// fleetMetrics are the samples of the metrics of the fleet.
func fleetMetrics(t *testing.T) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for key, value := range gathered(t) {
		for _, name := range []string{"resources", "replicas", "accelerators", "cleanup"} {
			if short := strings.TrimPrefix(key, "aimodel_operator_"); strings.HasPrefix(short, name) && value != 0 {
				found[short] = value
			}
		}
	}
	return found
}

func withReady(status metav1.ConditionStatus, reason string) []metav1.Condition {
	return []metav1.Condition{
		{Type: aiv1.ConditionApplied, Status: metav1.ConditionTrue, Reason: aiv1.ReasonObjectsApplied},
		{Type: aiv1.ConditionReady, Status: status, Reason: reason},
	}
}

func aModel(name string, conditions []metav1.Condition) *aiv1.AIModel {
	return &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Status: aiv1.AIModelStatus{Conditions: conditions}}
}

func deploymentOf(kind, name string, want, available int32, limits corev1.ResourceList) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: aiv1.GroupVersion.String(), Kind: kind, Name: name, Controller: ptr.To(true)}}},
		Spec: appsv1.DeploymentSpec{Replicas: &want, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "server", Resources: corev1.ResourceRequirements{Limits: limits}}, {Name: "beside"}}}}},
		Status: appsv1.DeploymentStatus{ReadyReplicas: available + 1, AvailableReplicas: available},
	}
}

func limits(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func TestTheFleetIsCounted(t *testing.T) {
	deleted := aModel("deleted", withReady(metav1.ConditionTrue, aiv1.ReasonReady))
	deleted.DeletionTimestamp = ptr.To(metav1.NewTime(time.Now().Add(-time.Hour)))
	deleted.Finalizers = []string{aiv1.Group + "/registry-cleanup"}
	foreign := aModel("of-others", nil)
	foreign.DeletionTimestamp = deleted.DeletionTimestamp
	foreign.Finalizers = []string{"example.com/other"}
	byDefault := deploymentOf("AIModel", "by-default", 0, 0, nil)
	byDefault.Spec.Replicas = nil
	orphan := deploymentOf("AIModel", "orphan", 7, 7, limits("nvidia.com/gpu", "1"))
	orphan.OwnerReferences = nil
	elect := serveFleet(t, nil,
		deleted, foreign,
		aModel("new", nil),
		aModel("m1", withReady(metav1.ConditionTrue, aiv1.ReasonReady)),
		aModel("strange", withReady(metav1.ConditionFalse, "SomethingNew")),
		&aiv1.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"},
			Status: aiv1.InferenceServiceStatus{Conditions: withReady(metav1.ConditionFalse, aiv1.ReasonUnschedulable)}},
		deploymentOf("AIModel", "cpu", 2, 1, limits("cpu", "4", "memory", "1Gi", "hugepages-2Mi", "2Mi", "kubernetes.io/batch", "1")),
		deploymentOf("InferenceService", "gpu", 3, 2, limits("nvidia.com/gpu", "4", "cpu", "1")),
		deploymentOf("InferenceService", "slice", 1, 0, limits("nvidia.com/mig-1g.10gb", "1")),
		deploymentOf("DaemonSet", "foreign", 9, 9, limits("nvidia.com/gpu", "4")),
		byDefault, orphan,
	)
	if got := fleetMetrics(t); len(got) != 0 {
		t.Errorf("a standby counts %v", got)
	}
	elect()
	want := map[string]float64{
		"resources kind=AIModel ready=True reason=Ready":                                 2,
		"resources kind=AIModel ready=Unknown reason=NotObserved":                        2,
		"resources kind=AIModel ready=False reason=other":                                1,
		"resources kind=InferenceService ready=False reason=Unschedulable":               1,
		"replicas kind=AIModel state=asked":                                              3,
		"replicas kind=AIModel state=ready":                                              3,
		"replicas kind=AIModel state=available":                                          1,
		"replicas kind=InferenceService state=asked":                                     4,
		"replicas kind=InferenceService state=ready":                                     4,
		"replicas kind=InferenceService state=available":                                 2,
		"accelerators kind=InferenceService resource=nvidia.com/gpu state=asked":         12,
		"accelerators kind=InferenceService resource=nvidia.com/gpu state=available":     8,
		"accelerators kind=InferenceService resource=nvidia.com/mig-1g.10gb state=asked": 1,
		"cleanups_pending kind=AIModel":                                                  1,
	}
	got := fleetMetrics(t)
	if age := got["cleanup_oldest_seconds kind=AIModel"]; age < 3600 || age > 3660 {
		t.Errorf("the oldest cleanup is %v s old", age)
	}
	delete(got, "cleanup_oldest_seconds kind=AIModel")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fleet (-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeReadIsNotCounted(t *testing.T) {
	elect := serveFleet(t, errors.New("the cache is not filled"), aModel("m", nil))
	elect()
	if got := fleetMetrics(t); len(got) != 0 {
		t.Errorf("counted %v", got)
	}
}

func TestAcceleratorsAreBounded(t *testing.T) {
	objects := []client.Object{deploymentOf("AIModel", "few", 1, 1, limits("example.com/few", "1"))}
	for i := range maxAccelerators + 4 {
		objects = append(objects, deploymentOf("AIModel", fmt.Sprint("m", i), 1, 1, limits(fmt.Sprintf("example.com/r%02d", i), "2")))
	}
	serveFleet(t, nil, objects...)()
	named, rest := 0, 0.0
	for key, count := range fleetMetrics(t) {
		if strings.HasSuffix(key, "resource=other state=asked") {
			rest = count
		} else if strings.HasPrefix(key, "accelerators") && strings.HasSuffix(key, "asked") {
			named++
			if count != 2 {
				t.Errorf("%s = %v: those of which most are asked for are told apart", key, count)
			}
		}
	}
	if named != maxAccelerators || rest != 4*2+1 {
		t.Errorf("%d are named, and %v are others", named, rest)
	}
}

func BenchmarkFleet(b *testing.B) {
	var objects []client.Object
	for i := range 1000 {
		name := fmt.Sprint("m", i)
		objects = append(objects, aModel(name, withReady(metav1.ConditionTrue, aiv1.ReasonReady)),
			deploymentOf("AIModel", name, 1, 1, limits("nvidia.com/gpu", "1", "cpu", "4")))
	}
	models, deployments := []*aiv1.AIModel{}, []appsv1.Deployment{}
	for _, object := range objects {
		switch o := object.(type) {
		case *aiv1.AIModel:
			models = append(models, o)
		case *appsv1.Deployment:
			deployments = append(deployments, *o)
		}
	}
	for b.Loop() { // what the cache itself takes is not ours
		count := ownerCount{verdicts: map[verdict]int{}}
		for _, model := range models {
			count.add(model, time.Now())
		}
		countDeployments(deployments)
	}
}
