package inferenceservice

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
	"github.com/aimodel-operator/aimodel-operator/internal/render"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// world is a reconciler on a store that counts what is written and can refuse it.
type world struct {
	*Reconciler
	client client.Client
	writes int
	fail   map[string]error
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), aiv1.AddToScheme(scheme), monitoringv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	w := &world{fail: map[string]error{}}
	store := fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithStatusSubresource(&aiv1.AIModel{}, &aiv1.InferenceService{}).
		WithIndex(&aiv1.InferenceService{}, index.ModelRef, func(o client.Object) []string {
			svc, _ := o.(*aiv1.InferenceService)
			return []string{svc.Spec.ModelRef.Name}
		}).
		WithIndex(&corev1.Pod{}, index.PodOwner, func(client.Object) []string { return nil }).WithObjects(objects...).Build()
	w.client = interceptor.NewClient(store, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := w.fail["list"]; err != nil {
				return err
			}
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*aiv1.InferenceService); ok && w.fail["get"] != nil {
				return w.fail["get"]
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			w.writes++
			return c.Create(ctx, o, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			w.writes++
			return c.Apply(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			w.writes++
			return c.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			w.writes++
			if err := w.fail["status"]; err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	renderer, err := render.New()
	if err != nil {
		t.Fatal(err)
	}
	w.Reconciler = &Reconciler{
		Client:   w.client,
		Resolver: &resolve.Resolver{Cached: w.client, Live: w.client},
		Pipeline: serving.NewPipeline(renderer, w.client, w.client, nil),
		Recorder: events.NewFakeRecorder(100),
	}
	return w
}

var request = ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "team-a", Name: "chat"}}

func model() *aiv1.AIModel {
	return &aiv1.AIModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama", UID: "uid-of-model", Generation: 1},
		Spec:       aiv1.AIModelSpec{ModelName: "llama", ModelVersion: "1", Source: &aiv1.ModelSource{URI: "hf://acme/llama"}},
		Status: aiv1.AIModelStatus{Conditions: []metav1.Condition{
			{Type: aiv1.ConditionResolved, Status: metav1.ConditionTrue, ObservedGeneration: 1},
		}},
	}
}

func service(name string, change ...func(*aiv1.InferenceService)) *aiv1.InferenceService {
	svc := &aiv1.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, UID: "uid-of-service", Generation: 1},
		Spec: aiv1.InferenceServiceSpec{
			ModelRef: aiv1.ModelReference{Name: "llama"},
			Runtime:  aiv1.Runtime{Name: aiv1.RuntimeVLLM},
		},
	}
	for _, c := range change {
		c(svc)
	}
	return svc
}

func TestReconcile(t *testing.T) {
	unresolved := model()
	unresolved.Status.Conditions = nil
	for name, tc := range map[string]struct {
		objects   []client.Object
		wantReady string
		wantURL   string
	}{
		"its model is there":          {[]client.Object{service("chat"), model()}, "False RollingOut", "http://chat-server.team-a.svc.cluster.local:80/v1"},
		"its model does not exist":    {[]client.Object{service("chat")}, "False ModelNotFound", ""},
		"its model was not looked at": {[]client.Object{service("chat"), unresolved}, "False ModelNotObserved", ""},
		"its runtime cannot read it": {[]client.Object{service("chat"), func() client.Object {
			m := model()
			m.Spec.Source.URI = "s3://bucket/llama"
			return m
		}()}, "False SourceNotSupported", ""},
		"its autoscaler follows": {[]client.Object{model(), service("chat", func(s *aiv1.InferenceService) {
			s.Spec.Autoscaling = &aiv1.Autoscaling{MaxReplicas: 3}
		})}, "Unknown Applying", "http://chat-server.team-a.svc.cluster.local:80/v1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.objects...)
			if _, err := w.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			live := &aiv1.InferenceService{}
			if err := w.client.Get(t.Context(), request.NamespacedName, live); err != nil {
				t.Fatal(err)
			}
			ready := meta.FindStatusCondition(live.Status.Conditions, aiv1.ConditionReady)
			if got := string(ready.Status) + " " + ready.Reason; got != tc.wantReady {
				t.Errorf("Ready = %s, want %s", got, tc.wantReady)
			}
			if live.Status.URL != tc.wantURL {
				t.Errorf("URL = %q, want %q", live.Status.URL, tc.wantURL)
			}

			// By the third pass everything is there and seen; the fourth has nothing left to do.
			for range 3 {
				w.writes = 0
				if _, err := w.Reconcile(t.Context(), request); err != nil {
					t.Fatal(err)
				}
			}
			if w.writes != 0 {
				t.Errorf("nothing changed, and %d writes", w.writes)
			}
		})
	}
}

func TestObjectsThatAreNotReconciled(t *testing.T) {
	going := service("chat", func(s *aiv1.InferenceService) {
		s.DeletionTimestamp, s.Finalizers = new(metav1.Now()), []string{"example.com/wait"}
	})
	for name, objects := range map[string][]client.Object{"gone": nil, "going": {going}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, objects...)
			result, err := w.Reconcile(t.Context(), request)
			if diff := cmp.Diff(ctrl.Result{}, result); diff != "" || err != nil || w.writes != 0 {
				t.Errorf("error = %v, result = %v, %d writes", err, result, w.writes)
			}
		})
	}
}

func TestFailuresOfTheServerAreTriedAgain(t *testing.T) {
	for _, verb := range []string{"get", "status"} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t, service("chat"), model())
			w.fail[verb] = apierrors.NewTimeoutError("slow", 1)
			if _, err := w.Reconcile(t.Context(), request); !apierrors.IsTimeout(err) {
				t.Errorf("error = %v, want the server's", err)
			}
		})
	}
}

func TestAServiceWhoseModelGoesKeepsWhatRuns(t *testing.T) {
	w := newWorld(t, service("chat"), model())
	if _, err := w.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	before := &aiv1.InferenceService{}
	if err := w.client.Get(t.Context(), request.NamespacedName, before); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Delete(t.Context(), model()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	after := &aiv1.InferenceService{}
	if err := w.client.Get(t.Context(), request.NamespacedName, after); err != nil {
		t.Fatal(err)
	}
	if after.Status.URL != before.Status.URL || len(after.Status.Inventory) == 0 || after.Status.Selector == "" {
		t.Errorf("status = %+v, want what it was: %+v", after.Status, before.Status)
	}
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "chat-server"}, &corev1.Service{}); err != nil {
		t.Errorf("the Service: %v", err)
	}
}

func TestServicesOfAModel(t *testing.T) {
	elsewhere := service("elsewhere", func(s *aiv1.InferenceService) { s.Namespace = "team-b" })
	ofAnother := service("of-another", func(s *aiv1.InferenceService) { s.Spec.ModelRef.Name = "mistral" })
	w := newWorld(t, service("chat"), service("batch"), elsewhere, ofAnother)
	want := []ctrl.Request{
		{NamespacedName: client.ObjectKey{Namespace: "team-a", Name: "batch"}},
		{NamespacedName: client.ObjectKey{Namespace: "team-a", Name: "chat"}},
	}
	if diff := cmp.Diff(want, w.servicesOf(t.Context(), model())); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	w.fail["list"] = errors.New("no")
	if got := w.servicesOf(t.Context(), model()); got != nil {
		t.Errorf("requests = %v after a failed read", got)
	}
}
