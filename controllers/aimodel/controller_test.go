package aimodel

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
	store := fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().WithStatusSubresource(&aiv1.AIModel{}).
		WithIndex(&corev1.Pod{}, index.PodOwner, func(client.Object) []string { return nil }).WithObjects(objects...).Build()
	w.client = interceptor.NewClient(store, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*aiv1.AIModel); ok && w.fail["get"] != nil {
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
		Resolver: &resolve.Resolver{Cached: w.client, Live: w.client},
		Pipeline: serving.NewPipeline(renderer, w.client, w.client, nil),
		Recorder: events.NewFakeRecorder(100),
	}
	return w
}

var request = ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "team-a", Name: "llama"}}

func model(change ...func(*aiv1.AIModel)) *aiv1.AIModel {
	m := &aiv1.AIModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama", UID: "uid", Generation: 1},
		Spec:       aiv1.AIModelSpec{ModelName: "llama", ModelVersion: "1", Image: "server:1"},
	}
	for _, c := range change {
		c(m)
	}
	return m
}

func TestReconcile(t *testing.T) {
	noImage := func(m *aiv1.AIModel) { m.Spec.Image = "" }
	for name, tc := range map[string]struct {
		model        *aiv1.AIModel
		wantReady    string
		wantURL      string
		wantEndpoint string
		wantWait     bool
	}{
		"a model with an image": {model: model(), wantReady: "False RollingOut", wantURL: "http://llama.team-a.svc.cluster.local:80"},
		"a model with a path": {model: model(func(m *aiv1.AIModel) { m.Spec.Endpoint = "/v1" }), wantReady: "False RollingOut",
			wantURL: "http://llama.team-a.svc.cluster.local:80/v1"},
		"a model that is named by others": {model: model(noImage), wantReady: "True Catalogued"},
		"a model that is served elsewhere": {model: model(noImage, func(m *aiv1.AIModel) { m.Spec.Endpoint = "https://api.example.com" }),
			wantReady: "True ServedElsewhere", wantEndpoint: "https://api.example.com"},
		"a model whose Secret is missing": {model: model(func(m *aiv1.AIModel) { m.Spec.CredentialsRef = &corev1.SecretReference{Name: "token"} }),
			wantReady: "False SecretNotFound", wantWait: true},
		"a model whose Secret is in another namespace": {model: model(func(m *aiv1.AIModel) {
			m.Spec.CredentialsRef = &corev1.SecretReference{Name: "token", Namespace: "team-b"}
		}), wantReady: "False SecretInOtherNamespace"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.model)
			result, err := w.Reconcile(t.Context(), request)
			if err != nil || (result.RequeueAfter > 0) != tc.wantWait {
				t.Errorf("error = %v, comes back after %s", err, result.RequeueAfter)
			}
			live := &aiv1.AIModel{}
			if err := w.client.Get(t.Context(), request.NamespacedName, live); err != nil {
				t.Fatal(err)
			}
			ready := meta.FindStatusCondition(live.Status.Conditions, aiv1.ConditionReady)
			if got := string(ready.Status) + " " + ready.Reason; got != tc.wantReady {
				t.Errorf("Ready = %s, want %s", got, tc.wantReady)
			}
			if live.Status.InferenceURL != tc.wantURL || live.Status.ModelEndpoint != tc.wantEndpoint {
				t.Errorf("URL = %q, endpoint = %q; want %q, %q", live.Status.InferenceURL, live.Status.ModelEndpoint, tc.wantURL, tc.wantEndpoint)
			}

			// The second pass sees the Deployment; the third has nothing left to do.
			for range 2 {
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
	going := model(func(m *aiv1.AIModel) {
		m.DeletionTimestamp, m.Finalizers = new(metav1.Now()), []string{"example.com/wait"}
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
			w := newWorld(t, model())
			w.fail[verb] = apierrors.NewTimeoutError("slow", 1)
			if _, err := w.Reconcile(t.Context(), request); !apierrors.IsTimeout(err) {
				t.Errorf("error = %v, want the server's", err)
			}
			delete(w.fail, verb)
			if _, err := w.Reconcile(t.Context(), request); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestAModelThatIsTakenOffItsImageLosesItsChildren(t *testing.T) {
	w := newWorld(t, model())
	if _, err := w.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	live := &aiv1.AIModel{}
	if err := w.client.Get(t.Context(), request.NamespacedName, live); err != nil {
		t.Fatal(err)
	}
	live.Spec.Image = ""
	if err := w.client.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Get(t.Context(), request.NamespacedName, live); err != nil {
		t.Fatal(err)
	}
	if len(live.Status.Inventory) != 0 || live.Status.InferenceURL != "" || live.Status.Selector != "" {
		t.Errorf("status = %+v", live.Status)
	}
	if err := w.client.Get(t.Context(), request.NamespacedName, &corev1.Service{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Service is still there: %v", err)
	}
}
