package registration

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/registration"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

var errDown = registry.Errorf(registry.Unreachable, "it is down")

func TestTheFinalizerAndTheRecordAreThereBeforeTheRegistryIsAsked(t *testing.T) {
	model := newModel("m")
	w := newWorld(t, newRegistry(), model)
	w.registry.meeting = func(string) {
		found := w.now(model)
		if !slices.Contains(found.Finalizers, aiv1.FinalizerRegistryCleanup) || found.Status.Registry == nil || found.Status.Registry.Key == "" {
			t.Errorf("the registry is asked while there is only %+v %+v", found.Finalizers, found.Status.Registry)
		}
	}
	w.reconcile(model)
	if got := w.outcome(model, aiv1.ConditionRegistered); got != "True Registered" {
		t.Errorf("Registered = %s", got)
	}
	if diff := cmp.Diff([]string{"register"}, w.registry.calls); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
}

func TestAnUnchangedModelCostsNothing(t *testing.T) {
	model := newModel("m")
	w := newWorld(t, newRegistry(), model)
	w.reconcile(model)
	writes := w.writes
	for range 3 {
		if pause := w.reconcile(model).RequeueAfter; !between(pause, 50*time.Minute, 70*time.Minute) {
			t.Errorf("it is looked at again after %s, want about an hour", pause)
		}
	}
	if w.writes != writes || len(w.registry.calls) != 1 {
		t.Errorf("%d writes more, calls %v", w.writes-writes, w.registry.calls)
	}
}

func TestWithoutARegistryToUseNothingIsBegun(t *testing.T) {
	for name, tc := range map[string]struct {
		of     *v1alpha1.ModelRegistry
		change func(*aiv1.AIModel)
		want   string
	}{
		"there is none":                          {newRegistry(func(of *v1alpha1.ModelRegistry) { of.Name = "other" }), nil, "False RegistryNotFound"},
		"none is named, and none is the default": {newRegistry(), func(m *aiv1.AIModel) { m.Spec.Registry.RegistryRef = nil }, "False RegistryNotFound"},
		"it is being deleted": {newRegistry(func(of *v1alpha1.ModelRegistry) {
			now := metav1.Now()
			of.DeletionTimestamp = &now
		}), nil, "False RegistryDeleting"},
		"it is not protected yet": {newRegistry(func(of *v1alpha1.ModelRegistry) { of.Finalizers = nil }), nil, "False Registering"},
		"too much of before waits for its cleanup": {newRegistry(), func(m *aiv1.AIModel) {
			m.Status.Registry = &aiv1.RegistryStatus{}
			for i := range registration.MaxPrevious {
				m.Status.Registry.Previous = append(m.Status.Registry.Previous, aiv1.Registration{Key: fmt.Sprint(i), Name: "old"})
			}
		}, "False Blocked"},
	} {
		t.Run(name, func(t *testing.T) {
			model := newModel("m")
			if tc.change != nil {
				tc.change(model)
			}
			w := newWorld(t, tc.of, model)
			w.reconcile(model)
			if got := w.outcome(model, aiv1.ConditionRegistered); got != tc.want {
				t.Errorf("Registered = %s, want %s", got, tc.want)
			}
			if len(w.registry.calls) > 0 || len(w.now(model).Finalizers) > 0 {
				t.Errorf("calls %v, finalizers %v", w.registry.calls, w.now(model).Finalizers)
			}
		})
	}
}

func TestAFailedRegistrationIsTriedAgainWhenItMayHelp(t *testing.T) {
	soon, patient := [2]time.Duration{time.Second, 2 * time.Second}, [2]time.Duration{15 * time.Second, 20 * time.Second}
	for reason, pause := range map[registry.Reason][2]time.Duration{
		registry.Unreachable: soon, registry.InProgress: soon, registry.RateLimited: soon,
		registry.Unauthorized: patient, registry.Conflict: patient, registry.AdoptionRequired: patient, registry.Invalid: patient,
	} {
		t.Run(string(reason), func(t *testing.T) {
			model := newModel("m")
			w := newWorld(t, newRegistry(), model)
			w.registry.wanted = []error{registry.Errorf(reason, "no")}
			if got := w.reconcile(model).RequeueAfter; !between(got, pause[0], pause[1]) {
				t.Errorf("it is tried again after %s, want %s", got, pause)
			}
			if got := w.outcome(model, aiv1.ConditionRegistered); got != "False "+string(reason) {
				t.Errorf("Registered = %s", got)
			}
			// Whatever else wakes it up before that costs the registry nothing.
			writes := w.writes
			w.reconcile(model)
			if len(w.registry.calls) != 1 || w.writes != writes {
				t.Errorf("calls %v, %d writes", w.registry.calls, w.writes-writes)
			}
			// What is asked for is another thing now.
			w.edit(model, func(m *aiv1.AIModel) { m.Spec.Registry.Tags = map[string]string{"a": "b"} })
			w.reconcile(model)
			if len(w.registry.calls) != 2 {
				t.Errorf("calls %v", w.registry.calls)
			}
		})
	}
}

func TestThePauseThatARegistryAsksForIsKept(t *testing.T) {
	model := newModel("m")
	w := newWorld(t, newRegistry(), model)
	limited := registry.Errorf(registry.RateLimited, "not so fast")
	limited.RetryAfter = 7 * time.Minute
	w.registry.wanted = []error{limited}
	if got := w.reconcile(model).RequeueAfter; got < limited.RetryAfter {
		t.Errorf("it is tried again after %s", got)
	}
}

func TestAnEntryThatStandsStaysRegisteredWhileTheRegistryIsDown(t *testing.T) {
	for reason, want := range map[registry.Reason]string{
		registry.Unreachable: "True UpdatePending", registry.Unauthorized: "True UpdatePending", registry.RateLimited: "True UpdatePending",
		registry.Conflict: "False Conflict", registry.Invalid: "False Invalid",
	} {
		model := newModel("m")
		w := newWorld(t, newRegistry(), model)
		w.reconcile(model)
		w.registry.wanted = []error{registry.Errorf(reason, "the words")}
		w.edit(model, func(m *aiv1.AIModel) { m.Spec.Registry.Tags = map[string]string{"a": "b"} })
		w.reconcile(model)
		if got := w.outcome(model, aiv1.ConditionRegistered); got != want {
			t.Errorf("%s: Registered = %s, want %s", reason, got, want)
		}
		if got := w.now(model).Status.Registry; got.LastError != "the words" || got.ID != "7" {
			t.Errorf("%s: status %+v", reason, got)
		}
	}
}

func TestADeadRegistryIsLeftAlone(t *testing.T) {
	var models []*aiv1.AIModel
	w := newWorld(t, newRegistry())
	w.registry.wanted = []error{errDown}
	for i := range 6 {
		model := newModel(fmt.Sprintf("m%d", i), func(m *aiv1.AIModel) { m.Spec.ModelVersion = fmt.Sprint(i) })
		if err := w.client.Create(t.Context(), model); err != nil {
			t.Fatal(err)
		}
		models = append(models, model)
		w.reconcile(model)
	}
	if len(w.registry.calls) != 3 {
		t.Errorf("a registry that does not answer is asked %d times, want 3", len(w.registry.calls))
	}
	last := models[len(models)-1]
	if got := w.outcome(last, aiv1.ConditionRegistered); got != "False Registering" {
		t.Errorf("Registered = %s", got)
	}
	// The background check closes the circuit.
	of := newRegistry()
	connection, err := w.Connections.Open(t.Context(), of, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := connection.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.registry.wanted = nil
	w.reconcile(last)
	if got := w.outcome(last, aiv1.ConditionRegistered); got != "True Registered" {
		t.Errorf("Registered = %s", got)
	}
}

func TestAFailureOfTheAPIServerIsNoneOfTheRegistry(t *testing.T) {
	if _, err := asProblem(errors.New("etcd is slow")); err == nil {
		t.Error("it is told as one of the registry")
	}
	problem, err := asProblem(fmt.Errorf("call: %w", errDown))
	if err != nil || problem.Reason != registry.Unreachable {
		t.Errorf("%v, %v", problem, err)
	}
}

func TestOnlyTheServicesOfModelsThatARegistryKnowsWakeTheController(t *testing.T) {
	w := newWorld(t, newModel("registered"), newModel("plain", func(m *aiv1.AIModel) { m.Spec.Registry = nil }),
		newModel("leaving", func(m *aiv1.AIModel) { m.Spec.Registry, m.Finalizers = nil, []string{aiv1.FinalizerRegistryCleanup} }))
	for model, want := range map[string]int{"registered": 1, "leaving": 1, "plain": 0, "missing": 0} {
		service := &aiv1.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "s"}}
		service.Spec.ModelRef.Name = model
		if got := w.modelOf(t.Context(), service); len(got) != want || want == 1 && got[0].Name != model {
			t.Errorf("%s: %v", model, got)
		}
	}
}
