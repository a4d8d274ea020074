package registration

import (
	"context"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// answers is a registry that gives the answers that a test wants, in turn, and the last of them for ever.
type answers struct {
	mu      sync.Mutex
	wanted  []error
	calls   []string
	asked   []registry.Registration
	meeting func(call string)
}

func (a *answers) answer(call string, what registry.Registration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls, a.asked = append(a.calls, call), append(a.asked, what)
	if a.meeting != nil {
		a.meeting(call)
	}
	if len(a.wanted) == 0 {
		return nil
	}
	err := a.wanted[0]
	if len(a.wanted) > 1 {
		a.wanted = a.wanted[1:]
	}
	return err
}

func (a *answers) Check(context.Context) error { return nil }

func (a *answers) Register(_ context.Context, r registry.Registration) (registry.Entry, error) {
	if err := a.answer("register", r); err != nil {
		return registry.Entry{}, err
	}
	return registry.Entry{Name: r.Name, ID: "7", Version: r.Version, Created: true}, nil
}

func (a *answers) Unregister(_ context.Context, r registry.Registration, policy registry.DeletionPolicy) error {
	return a.answer(string(policy), r)
}

// world is an API server in memory, a registry and the controller between them.
type world struct {
	*Reconciler
	t        *testing.T
	client   client.Client
	registry *answers
	events   chan string
	writes   int
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, aiv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	settings := registration.Settings{Cluster: "c"}
	w := &world{t: t, registry: &answers{}}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&aiv1.AIModel{}).
		WithIndex(&aiv1.InferenceService{}, index.ModelRef, func(o client.Object) []string {
			return []string{o.(*aiv1.InferenceService).Spec.ModelRef.Name}
		}).
		WithIndex(&aiv1.AIModel{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
				w.writes++
				return c.Patch(ctx, o, patch, options...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, part string, o client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
				w.writes++
				return c.SubResource(part).Patch(ctx, o, patch, options...)
			},
		}).Build()
	recorder := events.NewFakeRecorder(100)
	w.events = recorder.Events
	w.Reconciler = &Reconciler{
		Client: w.client, Live: w.client, Settings: settings, Recorder: recorder,
		Connections: &connections.Connections{Live: w.client, New: func(string, registry.Config) (registry.Backend, error) { return w.registry, nil }},
	}
	return w
}

// reconcile looks at a model once, as often as it takes for the controller to see its own writes.
func (w *world) reconcile(model *aiv1.AIModel) ctrl.Result {
	w.t.Helper()
	result, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(model)})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// now reads a model anew; nil if it is gone.
func (w *world) now(model *aiv1.AIModel) *aiv1.AIModel {
	w.t.Helper()
	found := &aiv1.AIModel{}
	if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(model), found); err != nil {
		if client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
		return nil
	}
	return found
}

func (w *world) delete(model *aiv1.AIModel) {
	w.t.Helper()
	if err := w.client.Delete(w.t.Context(), w.now(model)); err != nil {
		w.t.Fatal(err)
	}
}

// edit changes a model, with a new generation, as the API server counts one.
func (w *world) edit(model *aiv1.AIModel, change func(*aiv1.AIModel)) {
	w.t.Helper()
	found := w.now(model)
	change(found)
	found.Generation++
	if err := w.client.Update(w.t.Context(), found); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) outcome(model *aiv1.AIModel, kind string) string {
	w.t.Helper()
	found := w.now(model)
	if found == nil {
		return "gone"
	}
	outcome := conditions.Of(found.Status.Conditions, kind)
	return string(outcome.Status) + " " + outcome.Reason
}

func (w *world) told() []string {
	var all []string
	for {
		select {
		case event := <-w.events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func newRegistry(change ...func(*v1alpha1.ModelRegistry)) *v1alpha1.ModelRegistry {
	of := &v1alpha1.ModelRegistry{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "main", UID: "registry", Finalizers: []string{v1alpha1.FinalizerInUse}},
		Spec:       v1alpha1.ModelRegistrySpec{Type: v1alpha1.RegistryWebhook, URL: "http://registry.invalid"},
	}
	for _, f := range change {
		f(of)
	}
	return of
}

func newModel(name string, change ...func(*aiv1.AIModel)) *aiv1.AIModel {
	model := &aiv1.AIModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("uid-" + name), Generation: 1},
		Spec: aiv1.AIModelSpec{ModelName: "llama", ModelVersion: "1", Registry: &aiv1.Registry{
			RegistryRef: &aiv1.RegistryReference{Name: "main"}, DeletionPolicy: aiv1.DeletionDelete, AdoptionPolicy: aiv1.AdoptionNever,
		}},
	}
	for _, f := range change {
		f(model)
	}
	return model
}

// between says whether a pause is one of those that jitter makes of a base.
func between(pause, least, most time.Duration) bool { return pause >= least && pause <= most }
