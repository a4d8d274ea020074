package registration

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

// spansOf gives the spans of what is done: the steps in the order in which they end, then the reconcile with what it tells. A step
// that failed has a "!".
func spansOf(t *testing.T, do func()) (steps []string, told map[string]string) {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	tracing.Use(sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory)))
	defer tracing.Use(nil)
	do()
	spans := memory.GetSpans()
	if len(spans) == 0 {
		t.Fatal("there are no spans")
	}
	root := &spans[len(spans)-1]
	told = map[string]string{"span": root.Name, "failed": root.Status.Description}
	for _, pair := range root.Attributes {
		_, key, _ := strings.Cut(string(pair.Key), ".")
		told[key] = pair.Value.String()
	}
	for i := range spans[:len(spans)-1] {
		span := &spans[i]
		if span.Parent.SpanID() != root.SpanContext.SpanID() {
			t.Errorf("%s is not below the reconcile", span.Name)
		}
		step := span.Name
		if span.Status.Code == codes.Error {
			step += "! " + span.Status.Description
		}
		steps = append(steps, step)
	}
	return steps, told
}

func TestAReconcileIsTracedStepByStep(t *testing.T) {
	deleted := func(w *world, model *aiv1.AIModel) { w.delete(model) }
	settled := func(w *world, model *aiv1.AIModel) { w.reconcile(model) }
	both := func(w *world, model *aiv1.AIModel) { settled(w, model); deleted(w, model) }
	for name, tc := range map[string]struct {
		model   func(*aiv1.AIModel)
		before  func(*world, *aiv1.AIModel)
		answers []error
		steps   []string
		outcome string
		// registered is what the condition says, and the reason.
		registered string
	}{
		"a new model": {
			steps: []string{"resolve", "finalizer", "status", "register", "status"}, outcome: "ok", registered: "True Registered",
		},
		"one that nothing has changed of": {
			before: settled, steps: []string{"resolve", "status"}, outcome: "ok", registered: "True Registered",
		},
		"one that its registry refuses": {
			answers: []error{registry.Errorf(registry.Conflict, "it is another's")},
			steps:   []string{"resolve", "finalizer", "status", "register! it is another's", "status"},
			outcome: "waiting", registered: "False Conflict",
		},
		"one whose registry does not exist": {
			model:   func(m *aiv1.AIModel) { m.Spec.Registry.RegistryRef.Name = "other" },
			steps:   []string{`resolve! ModelRegistry "other" does not exist in namespace "team"`, "status"},
			outcome: "waiting", registered: "False RegistryNotFound",
		},
		"one that has a new version": {
			before: func(w *world, model *aiv1.AIModel) {
				w.reconcile(model)
				w.edit(model, func(m *aiv1.AIModel) { m.Spec.ModelVersion = "2" })
			},
			steps: []string{"resolve", "status", "register", "clean up", "status"}, outcome: "ok", registered: "True Registered",
		},
		"one that is deleted": {
			before: both, steps: []string{"clean up", "finalizer"}, outcome: "deleted", registered: "True Registered",
		},
		"one that is deleted while its registry is down": {
			before: both, answers: []error{errDown}, steps: []string{"clean up! " + errDown.Error(), "status"},
			outcome: "waiting", registered: "True Unreachable",
		},
		"one that gives up its entry": {
			model: func(m *aiv1.AIModel) {
				m.Annotations = map[string]string{aiv1.AnnotationSkipRegistryCleanup: "it burnt"}
			},
			before: both, steps: []string{`clean up! the cleanup was skipped, for the reason "it burnt"`, "finalizer"},
			outcome: "deleted", registered: "True Registered",
		},
		"one that is gone": {
			before: func(w *world, model *aiv1.AIModel) { settled(w, model); w.vanish(model) },
			steps:  []string{"clean up"}, outcome: "gone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			model := newModel("m")
			if tc.model != nil {
				tc.model(model)
			}
			w := newWorld(t, newRegistry(), model)
			if tc.before != nil {
				tc.before(w, model)
			}
			w.registry.wanted = tc.answers
			steps, told := spansOf(t, func() { w.reconcile(model) })
			if diff := cmp.Diff(tc.steps, steps); diff != "" {
				t.Errorf("steps (-want +got)\n%s", diff)
			}
			want := map[string]string{
				"span": "reconcile AIModel registration", "kind": "AIModel", "namespace.name": "team", "name": "m", "reconcile_id": "", "failed": "",
				"outcome": tc.outcome,
			}
			if tc.registered != "" {
				want["registered"], want["reason"], _ = strings.Cut(tc.registered, " ")
			}
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("the reconcile tells (-want +got)\n%s", diff)
			}
		})
	}
}

func TestAReconcileThatTheAPIServerFailsIsTracedAsFailed(t *testing.T) {
	for name, tc := range map[string]struct {
		err             error
		outcome, failed string
	}{
		"an error":   {errors.New("the server is on fire"), "transient", "patch the finalizers: the server is on fire"},
		"a conflict": {apierrors.NewConflict(schema.GroupResource{Resource: "aimodels"}, "m", errors.New("it changed")), "overtaken", ""},
	} {
		t.Run(name, func(t *testing.T) {
			model := newModel("m")
			w := newWorld(t, newRegistry(), model)
			w.Client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return tc.err
				},
			})
			_, told := spansOf(t, func() {
				_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(model)})
				if (err != nil) != (tc.failed != "") {
					t.Error(err)
				}
			})
			if told["outcome"] != tc.outcome || told["failed"] != tc.failed {
				t.Errorf("it tells %v", told)
			}
		})
	}
}
