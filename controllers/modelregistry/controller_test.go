package modelregistry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// checked is a registry that can only be checked.
type checked struct {
	registry.Backend
	err    error
	checks int
}

func (c *checked) Check(context.Context) error {
	c.checks++
	return c.err
}

type world struct {
	*Reconciler
	t       *testing.T
	client  client.Client
	backend *checked
}

const interval = 8 * time.Minute

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{aiv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	w := &world{t: t, backend: &checked{}}
	settings := registration.Settings{Cluster: "c"}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.ModelRegistry{}).
		WithIndex(&aiv1.AIModel{}, index.Registry, func(o client.Object) (names []string) {
			for _, name := range settings.Registries(o.(*aiv1.AIModel)) {
				names = append(names, name.String())
			}
			return names
		}).Build()
	w.Reconciler = &Reconciler{Client: w.client, Settings: settings, Interval: interval, Connections: &connections.Connections{
		Live: w.client, New: func(string, registry.Config) (registry.Backend, error) { return w.backend, nil }}}
	return w
}

var name = types.NamespacedName{Namespace: "team", Name: "main"}

func (w *world) reconcile() time.Duration {
	w.t.Helper()
	result, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return result.RequeueAfter
}

// now reads the registry anew; nil if it is gone.
func (w *world) now() *v1alpha1.ModelRegistry {
	w.t.Helper()
	of := &v1alpha1.ModelRegistry{}
	if err := w.client.Get(w.t.Context(), name, of); err != nil {
		if client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
		return nil
	}
	return of
}

func newRegistry() *v1alpha1.ModelRegistry {
	return &v1alpha1.ModelRegistry{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, UID: "registry", Generation: 1},
		Spec:       v1alpha1.ModelRegistrySpec{Type: v1alpha1.RegistryWebhook, URL: "http://registry.invalid"},
	}
}

func newUser() *aiv1.AIModel {
	return &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "m"},
		Spec: aiv1.AIModelSpec{ModelName: "llama", Registry: &aiv1.Registry{RegistryRef: &aiv1.RegistryReference{Name: "main"}}}}
}

func TestARegistryIsKeptWhileItIsUsed(t *testing.T) {
	user := newUser()
	w := newWorld(t, newRegistry())
	w.reconcile()
	if found := w.now(); len(found.Finalizers) > 0 {
		t.Errorf("one that nobody uses has the finalizers %v", found.Finalizers)
	}
	if err := w.client.Create(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if found := w.now(); !slices.Contains(found.Finalizers, v1alpha1.FinalizerInUse) || found.Status.Registrations != 1 {
		t.Errorf("one that is used has the finalizers %v and %d registrations", found.Finalizers, found.Status.Registrations)
	}
	if err := w.client.Delete(t.Context(), w.now()); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if got := conditions.Of(w.now().Status.Conditions, v1alpha1.ConditionReleased); got.Reason != v1alpha1.ReasonInUse || !strings.Contains(got.Message, "team/m") {
		t.Errorf("Released = %+v", got)
	}
	if err := w.client.Delete(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if found := w.now(); found != nil {
		t.Errorf("it is still there: %v", found.Finalizers)
	}
}

func TestTheConnectionIsKeptForThoseWhoStillHaveEntriesThere(t *testing.T) {
	user := newUser()
	w := newWorld(t, newRegistry(), user)
	w.reconcile()
	of := w.now()
	of.Finalizers = nil
	if err := errors.Join(w.client.Update(t.Context(), of), w.client.Delete(t.Context(), of)); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if w.Connections.Last(name) == nil {
		t.Error("the connection was dropped while a model has an entry to clean up")
	}
	if err := w.client.Delete(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	w.reconcile()
	if w.Connections.Last(name) != nil {
		t.Error("the connection stays for nobody")
	}
}

func TestARegistryIsCheckedOnceInAWhileAndMoreOftenWhileItFails(t *testing.T) {
	w := newWorld(t, newRegistry())
	for range 3 {
		if pause := w.reconcile(); pause < interval-time.Minute || pause > interval*13/10 {
			t.Errorf("the next check comes after %s, want about %s", pause, interval)
		}
	}
	if w.backend.checks != 1 {
		t.Errorf("it was checked %d times", w.backend.checks)
	}
	version := w.now().ResourceVersion
	w.reconcile()
	if w.now().ResourceVersion != version {
		t.Error("nothing changed, and the status was written")
	}
	of := w.now()
	of.Generation++
	if err := w.client.Update(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	w.backend.err = registry.Errorf(registry.Unreachable, "it is down")
	if pause := w.reconcile(); pause > interval/soonest*13/10 {
		t.Errorf("the next check of one that fails comes after %s", pause)
	}
	if w.backend.checks != 2 {
		t.Errorf("one whose spec changed was checked %d times", w.backend.checks)
	}
}

func TestWhatACheckSays(t *testing.T) {
	for want, err := range map[string]error{
		"True Answers, True Accepted":               nil,
		"True Answers, False Unauthorized":          registry.Errorf(registry.Unauthorized, "no"),
		"False Unreachable, Unknown NotChecked":     registry.Errorf(registry.Unreachable, "no"),
		"False Invalid, Unknown NotChecked":         registry.Errorf(registry.Invalid, "no"),
		"Unknown NotChecked, False SecretNotFound":  fmt.Errorf("read: %w", connections.ErrSecretNotFound),
		"Unknown NotChecked, Unknown NotChecked":    errors.New("etcd is slow"),
		"True Answers, True Accepted (rate limits)": registry.Errorf(registry.RateLimited, "not so fast"),
	} {
		reachable, authorized := verdict(err)
		got := fmt.Sprintf("%s %s, %s %s", reachable.Status, reachable.Reason, authorized.Status, authorized.Reason)
		if got != strings.TrimSuffix(want, " (rate limits)") {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

func TestManyUsersAreNamedInALineThatDoesNotGrow(t *testing.T) {
	var users []string
	for i := range 15 {
		users = append(users, fmt.Sprintf("team/m%02d", i))
	}
	for count, want := range map[int]string{
		1:  "1 AIModel uses it: team/m00",
		2:  "2 AIModels use it: team/m00, team/m01",
		15: "15 AIModels use it: team/m00, team/m01, team/m02, team/m03, team/m04, team/m05, team/m06, team/m07, team/m08, team/m09 and 5 more",
	} {
		if got := inUse(users[:count]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
