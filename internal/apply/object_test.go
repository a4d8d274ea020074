package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
)

func testScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), aiv1.AddToScheme(scheme), monitoringv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func owner() *aiv1.AIModel {
	return &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama", UID: "uid-of-llama"}}
}

func ownerReference(model *aiv1.AIModel) metav1.OwnerReference {
	return *metav1.NewControllerRef(model, aiv1.GroupVersion.WithKind("AIModel"))
}

func prepare(t testing.TB, object client.Object) Object {
	t.Helper()
	prepared, err := Prepare(object, ownerReference(owner()), testScheme(t))
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

func deployment(change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama", Labels: map[string]string{"app": "llama"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "llama"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "llama"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:  "server",
					Image: "server:1",
					Env:   []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}},
				}}},
			},
		},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

func service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama", Labels: map[string]string{"app": "llama"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
}

func TestPreparedObjectsHoldOnlyWhatWasRendered(t *testing.T) {
	d := deployment()
	d.Status.Replicas = 3
	got := prepare(t, d)
	want := map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata": map[string]any{
			"namespace": "team-a", "name": "llama", "labels": map[string]any{"app": "llama"},
			"ownerReferences": []any{map[string]any{
				"apiVersion": "ai.example.com/v1", "kind": "AIModel", "name": "llama", "uid": "uid-of-llama",
				"controller": true, "blockOwnerDeletion": true,
			}},
		},
		"spec": map[string]any{
			"replicas": int64(1),
			"selector": map[string]any{"matchLabels": map[string]any{"app": "llama"}},
			"strategy": map[string]any{},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "llama"}},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "server", "image": "server:1", "resources": map[string]any{},
					"env": []any{map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "B", "value": "2"}},
				}}},
			},
		},
	}
	if diff := cmp.Diff(want, got.content()); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	for name, object := range rendered(t) {
		encoded, err := json.Marshal(object.content())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(encoded), "null") && strings.Contains(string(encoded), ":null") {
			t.Errorf("%s: holds a null: %s", name, encoded)
		}
	}
}

func TestPrepareTakesNoUnknownType(t *testing.T) {
	_, err := Prepare(&corev1.Service{}, ownerReference(owner()), runtime.NewScheme())
	if err == nil || !strings.Contains(err.Error(), "*v1.Service") {
		t.Errorf("error = %v, want one that names the type", err)
	}
}

func TestQuantitiesAreComparedByWhatTheyAre(t *testing.T) {
	limits := func(cpu string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"cpu": resource.MustParse(cpu)}
		}
	}
	for name, tc := range map[string]struct {
		rendered, live string
		want           bool
	}{
		"1000m is 1":       {"1000m", "1", true},
		"0.5 is 500m":      {"0.5", "500m", true},
		"1024Mi is 1Gi":    {"1024Mi", "1Gi", true},
		"2 is not 1":       {"2", "1", false},
		"1G is not 1Gi":    {"1G", "1Gi", false},
		"1e3 is one of 1k": {"1e3", "1e3", true},
	} {
		t.Run(name, func(t *testing.T) {
			// The live object comes as the API server stores it: read, and written in canonical form.
			live := prepare(t, readAgain(t, deployment(limits(tc.live))))
			if got := coversMap(live.content(), prepare(t, deployment(limits(tc.rendered))).content()); got != tc.want {
				t.Errorf("covers = %v, want %v", got, tc.want)
			}
		})
	}
}

func readAgain(t *testing.T, d *appsv1.Deployment) *appsv1.Deployment {
	t.Helper()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	again := &appsv1.Deployment{}
	if err := json.Unmarshal(data, again); err != nil {
		t.Fatal(err)
	}
	return again
}

func TestTheDigestTellsOfEveryChangeAndNothingElse(t *testing.T) {
	manyLabels := func(backwards bool) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Labels = map[string]string{}
			for i := range 50 {
				if backwards {
					i = 49 - i
				}
				d.Labels[fmt.Sprintf("label-%d", i)] = "x"
			}
		}
	}
	for name, tc := range map[string]struct {
		a, b func(*appsv1.Deployment)
		same bool
	}{
		"nothing":                 {func(*appsv1.Deployment) {}, func(*appsv1.Deployment) {}, true},
		"maps in another order":   {manyLabels(false), manyLabels(true), true},
		"a status":                {func(*appsv1.Deployment) {}, func(d *appsv1.Deployment) { d.Status.Replicas = 1 }, true},
		"another image":           {func(*appsv1.Deployment) {}, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "server:2" }, false},
		"a variable less":         {func(*appsv1.Deployment) {}, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Env = nil }, false},
		"variables, other order":  {func(*appsv1.Deployment) {}, swapEnv, false},
		"another label":           {func(*appsv1.Deployment) {}, func(d *appsv1.Deployment) { d.Labels["b"] = "c" }, false},
		"no number of replicas":   {func(*appsv1.Deployment) {}, func(d *appsv1.Deployment) { d.Spec.Replicas = nil }, false},
		"quantity, other writing": {memory("1Gi"), memory("1024Mi"), true},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := prepare(t, deployment(tc.a)), prepare(t, deployment(tc.b))
			if got := a.digest == b.digest; got != tc.same {
				t.Errorf("the same digest: %v, want %v", got, tc.same)
			}
		})
	}
	other := owner()
	other.UID = "another"
	made, err := Prepare(deployment(), ownerReference(other), testScheme(t))
	if err != nil {
		t.Fatal(err)
	}
	if made.digest == prepare(t, deployment()).digest {
		t.Error("two owners give one digest")
	}
}

func swapEnv(d *appsv1.Deployment) {
	env := d.Spec.Template.Spec.Containers[0].Env
	env[0], env[1] = env[1], env[0]
}

func memory(quantity string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse(quantity)}
	}
}

func TestARequestIsMarkedAndLeavesTheObjectAlone(t *testing.T) {
	object := prepare(t, deployment(func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }))
	before := object.content()
	for _, prefix := range []string{createdPrefix, appliedPrefix} {
		request := object.request(prefix)
		want := map[string]string{"a": "b", aiv1.AnnotationApplied: prefix + object.digest}
		if diff := cmp.Diff(want, request.GetAnnotations()); diff != "" {
			t.Errorf("annotations (-want +got):\n%s", diff)
		}
		if !IsLatest(request, object) {
			t.Errorf("what is sent with %q is not recognised as the latest", prefix)
		}
		if wasCreated(request) != (prefix == createdPrefix) {
			t.Errorf("wasCreated is wrong for %q", prefix)
		}
		request.SetLabels(nil)
	}
	if diff := cmp.Diff(before, object.content()); diff != "" {
		t.Errorf("the object was changed (-before +after):\n%s", diff)
	}
	if IsLatest(&unstructured.Unstructured{}, object) {
		t.Error("an object without a mark is taken for the latest")
	}
}
