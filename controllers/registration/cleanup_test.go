package registration

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// leaving is a world with a model that is registered and then deleted, before the controller sees that.
func leaving(t *testing.T, change ...func(*aiv1.AIModel)) (*world, *aiv1.AIModel) {
	t.Helper()
	model := newModel("m", change...)
	w := newWorld(t, newRegistry(), model)
	w.reconcile(model)
	w.delete(model)
	w.registry.calls = nil
	w.told()
	return w, model
}

func TestADeletedModelIsTakenOutOfItsRegistryAsItsPolicySays(t *testing.T) {
	for _, policy := range []aiv1.DeletionPolicy{aiv1.DeletionDelete, aiv1.DeletionArchive, aiv1.DeletionOrphan} {
		w, model := leaving(t)
		w.edit(model, func(m *aiv1.AIModel) { m.Spec.Registry.DeletionPolicy = policy }) // also while it is being deleted
		w.reconcile(model)
		if diff := cmp.Diff([]string{string(policy)}, w.registry.calls); diff != "" || w.now(model) != nil {
			t.Errorf("%s: model %v, calls (-want +got)\n%s", policy, w.now(model), diff)
		}
	}
}

func TestNothingIsAskedForAModelWithoutTheFinalizer(t *testing.T) {
	model := newModel("m", func(m *aiv1.AIModel) { m.Finalizers = []string{"example.org/theirs"} })
	w := newWorld(t, newRegistry(), model)
	w.delete(model)
	w.reconcile(model)
	if len(w.registry.calls) > 0 || w.writes > 0 {
		t.Errorf("calls %v, %d writes", w.registry.calls, w.writes)
	}
}

func TestACleanupThatFailsHoldsTheModelAndSaysWhy(t *testing.T) {
	soon, patient := [2]time.Duration{time.Second, 2 * time.Second}, [2]time.Duration{15 * time.Second, 20 * time.Second}
	for reason, pause := range map[registry.Reason][2]time.Duration{
		registry.Unreachable: soon, registry.InProgress: soon, registry.RateLimited: soon,
		registry.Unauthorized: patient, registry.DeleteUnsupported: patient, registry.Invalid: patient, registry.Conflict: patient,
	} {
		t.Run(string(reason), func(t *testing.T) {
			w, model := leaving(t)
			others := blockedCleanups(t)
			w.registry.wanted = []error{registry.Errorf(reason, "the words")}
			if got := w.reconcile(model).RequeueAfter; !between(got, pause[0], pause[1]) {
				t.Errorf("it is tried again after %s, want %s", got, pause)
			}
			if got := w.outcome(model, aiv1.ConditionCleanedUp); got != "False "+string(reason) {
				t.Errorf("CleanedUp = %s", got)
			}
			found := w.now(model)
			if found.Status.Registry.Cleanup.Attempts != 1 || found.Status.Registry.LastError != "the words" {
				t.Errorf("status %+v", found.Status.Registry)
			}
			if got := blockedCleanups(t) - others; got != 1 {
				t.Errorf("the metric counts %v blocked", got)
			}
			writes := w.writes
			w.reconcile(model)
			if len(w.registry.calls) != 1 || w.writes != writes {
				t.Errorf("before it is time: calls %v, %d writes", w.registry.calls, w.writes-writes)
			}
			w.registry.wanted = nil
			w.memory.hurry(client.ObjectKeyFromObject(model))
			w.reconcile(model)
			if w.now(model) != nil {
				t.Error("the model is still there")
			}
			if got := blockedCleanups(t) - others; got != 0 {
				t.Errorf("afterwards the metric counts %v blocked", got)
			}
		})
	}
}

// blockedCleanups is what the operator's metric says.
func blockedCleanups(t *testing.T) float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "aimodel_operator_registry_cleanup_blocked" {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return 0
}

func TestTheEntryOfAnotherObjectOfThatNameIsLeft(t *testing.T) {
	other := registry.Errorf(registry.OtherIncarnation, "another one's")
	other.FoundUID = "uid-found"
	t.Run("the object that is deleted is the only one of its name: the entry is from before a restore", func(t *testing.T) {
		w, model := leaving(t)
		w.registry.wanted = []error{other, nil}
		w.registry.asked = nil
		w.reconcile(model)
		if diff := cmp.Diff([]string{"Delete", "Delete"}, w.registry.calls); diff != "" || w.now(model) != nil {
			t.Fatalf("model %v, calls (-want +got)\n%s", w.now(model), diff)
		}
		if w.registry.asked[0].Owner.UID != model.UID || w.registry.asked[1].Owner.UID != "uid-found" {
			t.Errorf("asked for %+v", w.registry.asked)
		}
	})
	t.Run("another object has the name by now: the entry is that one's", func(t *testing.T) {
		w, model := leaving(t)
		w.registry.wanted = []error{other, nil}
		w.Live = newWorld(t, newModel("m", func(m *aiv1.AIModel) { m.UID = "uid-found" })).client
		w.reconcile(model)
		if diff := cmp.Diff([]string{"Delete"}, w.registry.calls); diff != "" || w.now(model) != nil {
			t.Errorf("model %v, calls (-want +got)\n%s", w.now(model), diff)
		}
	})
}

func longAgo(policy aiv1.CleanupTimeoutPolicy) func(*aiv1.AIModel) {
	return func(m *aiv1.AIModel) {
		m.Spec.Registry.Cleanup = &aiv1.RegistryCleanup{Timeout: &metav1.Duration{Duration: time.Nanosecond}, OnTimeout: policy}
	}
}

func TestACleanupThatMayNotGoOnForEver(t *testing.T) {
	skip := func(m *aiv1.AIModel) {
		m.Annotations = map[string]string{aiv1.AnnotationSkipRegistryCleanup: "it\nburnt"}
	}
	for name, tc := range map[string]struct {
		change func(*aiv1.AIModel)
		want   string // of CleanedUp, or gone
		event  string
		calls  int
	}{
		"waits":                            {func(*aiv1.AIModel) {}, "False Unreachable", "Unreachable", 1},
		"is given up after its time":       {longAgo(aiv1.CleanupOrphan), "gone", "Warning TimedOut", 1},
		"blocks after its time, if it may": {longAgo(aiv1.CleanupBlock), "False TimedOut", "Warning TimedOut", 1},
		"is skipped when asked":            {skip, "gone", `for the reason "it burnt"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, model := leaving(t, tc.change)
			w.registry.wanted = []error{errDown}
			w.reconcile(model)
			told := strings.Join(w.told(), "\n")
			if got := w.outcome(model, aiv1.ConditionCleanedUp); got != tc.want || len(w.registry.calls) != tc.calls || !strings.Contains(told, tc.event) {
				t.Errorf("CleanedUp = %s, calls %v, events %s", got, w.registry.calls, told)
			}
		})
	}
}

func TestWithoutItsModelRegistryACleanupWaitsUnlessTheNamespaceEnds(t *testing.T) {
	for name, ending := range map[string]bool{"stays": false, "ends": true} {
		t.Run("the namespace "+name, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Finalizers: []string{"kubernetes"}}}
			model := newModel("m", func(m *aiv1.AIModel) { m.Finalizers = []string{aiv1.FinalizerRegistryCleanup} })
			w := newWorld(t, namespace, model)
			w.delete(model)
			if ending {
				if err := w.client.Delete(t.Context(), namespace); err != nil {
					t.Fatal(err)
				}
			}
			w.reconcile(model)
			want := "False Blocked"
			if ending {
				want = "gone"
			}
			if got := w.outcome(model, aiv1.ConditionCleanedUp); got != want {
				t.Errorf("CleanedUp = %s, want %s", got, want)
			}
			if len(w.registry.calls) > 0 {
				t.Errorf("calls %v", w.registry.calls)
			}
		})
	}
}

func TestWhatWasRegisteredBeforeGoesOnceTheNewEntryStands(t *testing.T) {
	model := newModel("m")
	w := newWorld(t, newRegistry(), model)
	w.reconcile(model)
	w.registry.calls, w.registry.wanted = nil, []error{registry.Errorf(registry.Conflict, "taken"), nil}
	w.edit(model, func(m *aiv1.AIModel) { m.Spec.ModelVersion = "2" })
	w.reconcile(model)
	if diff := cmp.Diff([]string{"register"}, w.registry.calls); diff != "" {
		t.Fatalf("while the new one is refused (-want +got)\n%s", diff)
	}
	if previous := w.now(model).Status.Registry.Previous; len(previous) != 1 || previous[0].ModelVersion != "1" {
		t.Fatalf("previous %+v", previous)
	}
	w.memory.hurry(client.ObjectKeyFromObject(model))
	w.reconcile(model)
	if diff := cmp.Diff([]string{"register", "register", "Delete"}, w.registry.calls); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
	if last := w.registry.asked[len(w.registry.asked)-1]; last.Version != "1" {
		t.Errorf("version %s was deleted", last.Version)
	}
	if found := w.now(model); len(found.Status.Registry.Previous) > 0 || found.Status.Registry.ModelVersion != "2" {
		t.Errorf("status %+v", found.Status.Registry)
	}
}

func TestAModelThatIsNotToBeRegisteredAnyMoreLosesItsFinalizerLast(t *testing.T) {
	model := newModel("m")
	w := newWorld(t, newRegistry(), model)
	w.reconcile(model)
	w.registry.wanted = []error{errDown}
	w.edit(model, func(m *aiv1.AIModel) { m.Spec.Registry = nil })
	w.reconcile(model)
	if found := w.now(model); len(found.Finalizers) != 1 || w.outcome(model, aiv1.ConditionCleanedUp) != "False Unreachable" {
		t.Fatalf("finalizers %v, CleanedUp = %s", found.Finalizers, w.outcome(model, aiv1.ConditionCleanedUp))
	}
	w.registry.wanted = nil
	w.memory.hurry(client.ObjectKeyFromObject(model))
	w.reconcile(model)
	if found := w.now(model); len(found.Finalizers) > 0 || found.Status.Registry != nil || len(found.Status.Conditions) > 0 {
		t.Errorf("left is %v %+v %+v", found.Finalizers, found.Status.Registry, found.Status.Conditions)
	}
}

// crowd is a registry that keeps whoever registers waiting.
type crowd struct {
	*answers
	inside atomic.Int32
	leave  chan struct{}
}

func (c *crowd) Register(context.Context, registry.Registration) (registry.Entry, error) {
	c.inside.Add(1)
	<-c.leave
	return registry.Entry{}, nil
}

func TestADeletionWhoseTurnHasNotComeTellsAndWritesNothing(t *testing.T) {
	model := newModel("m", func(m *aiv1.AIModel) { m.Finalizers = []string{aiv1.FinalizerRegistryCleanup} })
	w := newWorld(t, newRegistry(), model)
	full := &crowd{answers: w.registry, leave: make(chan struct{})}
	w.Connections.New = func(string, registry.Config) (registry.Backend, error) { return full, nil }
	woken := make(chan types.NamespacedName, 1)
	w.Connections.Wake = func(name types.NamespacedName) { woken <- name }
	connection, err := w.Connections.Open(t.Context(), newRegistry(), false)
	if err != nil {
		t.Fatal(err)
	}
	const atATime = 4
	var all sync.WaitGroup
	for i := range atATime {
		all.Go(func() {
			_, _ = connection.Register(t.Context(), types.NamespacedName{Name: fmt.Sprint(i)}, registry.Registration{})
		})
	}
	for full.inside.Load() < atATime {
		runtime.Gosched()
	}
	w.delete(model)
	before := blockedCleanups(t)
	w.reconcile(model)
	if told := w.told(); w.writes > 0 || len(told) > 0 || blockedCleanups(t) != before {
		t.Errorf("%d writes, events %q, %v blocked", w.writes, told, blockedCleanups(t)-before)
	}
	close(full.leave)
	all.Wait()
	if name := <-woken; name != client.ObjectKeyFromObject(model) {
		t.Errorf("%s is woken", name)
	}
	w.reconcile(model)
	if w.now(model) != nil {
		t.Error("the model is still there")
	}
}

func TestAnOldCopyOfAModelIsNotActedOn(t *testing.T) {
	model := newModel("m")
	w := newWorld(t, newRegistry(), model)
	w.memory.of(client.ObjectKeyFromObject(model), model.UID).version = "999999"
	if got := w.reconcile(model).RequeueAfter; got != again || len(w.registry.calls) > 0 || w.writes > 0 {
		t.Errorf("again after %s, calls %v, %d writes", got, w.registry.calls, w.writes)
	}
}
