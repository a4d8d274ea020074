package registration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// vanish takes a model away without waiting for its finalizers.
func (w *world) vanish(model *aiv1.AIModel) {
	w.t.Helper()
	found := w.now(model)
	found.Finalizers = nil
	if err := w.client.Update(w.t.Context(), found); err != nil {
		w.t.Fatal(err)
	}
	w.delete(model)
}

func TestAModelThatGoesWithoutWaitingForItsCleanupIsCleanedUpAfter(t *testing.T) {
	for when, register := range map[string]func(w *world, model *aiv1.AIModel){
		"while it is registered": func(w *world, model *aiv1.AIModel) {
			w.registry.meeting = func(call string) {
				if call == "register" {
					w.vanish(model)
				}
			}
			w.reconcile(model)
		},
		"when it is registered": func(w *world, model *aiv1.AIModel) {
			w.reconcile(model)
			w.vanish(model)
		},
	} {
		t.Run(when, func(t *testing.T) {
			model := newModel("m")
			w := newWorld(t, newRegistry(), model)
			register(w, model)

			w.registry.wanted = []error{registry.Errorf(registry.Unreachable, "it is down"), nil}
			if got := w.reconcile(model).RequeueAfter; !between(got, firstPause/2, 2*firstPause) {
				t.Errorf("it is tried again after %s", got)
			}
			w.reconcile(model)
			if diff := cmp.Diff([]string{"register", "Delete", "Delete"}, w.registry.calls); diff != "" {
				t.Error(diff)
			}
			if owner := w.registry.asked[2].Owner; owner.UID != model.UID {
				t.Errorf("the entry of %q is deleted", owner.UID)
			}
			w.reconcile(model)
			if len(w.registry.calls) != 3 {
				t.Errorf("it is cleaned up once more: %q", w.registry.calls)
			}
		})
	}
}

func TestAModelThatWentWithoutItsCleanupIsCleanedUpBeforeTheNextOfItsName(t *testing.T) {
	w := newWorld(t, newRegistry(), newModel("m"))
	w.reconcile(newModel("m"))
	w.vanish(newModel("m"))
	next := newModel("m", func(m *aiv1.AIModel) { m.UID, m.Spec.Registry = "next", nil })
	if err := w.client.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	w.reconcile(next)
	if diff := cmp.Diff([]string{"register", "Delete"}, w.registry.calls); diff != "" {
		t.Error(diff)
	}
}

func TestAModelThatTheCacheDoesNotKnowYetIsNotCleanedUpAfter(t *testing.T) {
	model := newModel("m")
	w := newWorld(t, newRegistry(), model)
	w.reconcile(model)
	w.Live = w.client
	w.Client = newWorld(t).client // knows nothing
	if got := w.reconcile(model).RequeueAfter; got == 0 || got > time.Second {
		t.Errorf("it is looked at again after %s", got)
	}
	if len(w.registry.calls) != 1 {
		t.Errorf("calls %q", w.registry.calls)
	}
}

func TestAModelThatIsDeletedAsItShouldIsCleanedUpOnce(t *testing.T) {
	model := newModel("m")
	w := newWorld(t, newRegistry(), model)
	w.reconcile(model)
	w.delete(model)
	for range 3 {
		w.reconcile(model)
	}
	if diff := cmp.Diff([]string{"register", "Delete"}, w.registry.calls); diff != "" {
		t.Error(diff)
	}
}

func TestTheCleanupAfterAModelThatWentIsGivenUpAsThatOfOneThatWaitsIs(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*aiv1.AIModel)
		calls  []string
	}{
		"after its time": {longAgo(aiv1.CleanupOrphan), []string{"register", "Delete"}},
		"when asked": {func(m *aiv1.AIModel) {
			m.Annotations = map[string]string{aiv1.AnnotationSkipRegistryCleanup: "it burnt"}
		}, []string{"register"}},
	} {
		t.Run(name, func(t *testing.T) {
			model := newModel("m", tc.change)
			w := newWorld(t, newRegistry(), model)
			w.reconcile(model)
			w.vanish(model)
			w.registry.wanted = []error{errDown}
			for range 2 {
				if got := w.reconcile(model).RequeueAfter; got != 0 {
					t.Errorf("it is tried again after %s", got)
				}
			}
			if diff := cmp.Diff(tc.calls, w.registry.calls); diff != "" {
				t.Error(diff)
			}
		})
	}
}
