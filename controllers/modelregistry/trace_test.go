package modelregistry

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

// traced reconciles once, and gives the steps and what the span of the reconcile tells.
func (w *world) traced() (steps []string, told map[string]string) {
	w.t.Helper()
	memory := tracetest.NewInMemoryExporter()
	tracing.Use(sdktrace.NewTracerProvider(sdktrace.WithSyncer(memory)))
	defer tracing.Use(nil)
	w.reconcile()
	spans := memory.GetSpans()
	if len(spans) == 0 {
		w.t.Fatal("there are no spans")
	}
	root := &spans[len(spans)-1]
	told = map[string]string{"span": root.Name}
	for _, pair := range root.Attributes {
		told[string(pair.Key)] = pair.Value.String()
	}
	for i := range spans[:len(spans)-1] {
		if spans[i].Parent.SpanID() != root.SpanContext.SpanID() {
			w.t.Errorf("%s is not below the reconcile", spans[i].Name)
		}
		step := spans[i].Name
		if said := spans[i].Status.Description; said != "" {
			step += "! " + said
		}
		steps = append(steps, step)
	}
	return steps, told
}

func TestALookAtARegistryIsTraced(t *testing.T) {
	w := newWorld(t, newRegistry(), newUser())
	expect := func(outcome, ready, reason string, wantSteps ...string) {
		t.Helper()
		steps, told := w.traced()
		if diff := cmp.Diff(wantSteps, steps); diff != "" {
			t.Errorf("steps (-want +got)\n%s", diff)
		}
		want := map[string]string{
			"span": "reconcile ModelRegistry", "aimodel_operator.kind": "ModelRegistry", "k8s.namespace.name": "team",
			"aimodel_operator.name": "main", "aimodel_operator.reconcile_id": "", "aimodel_operator.outcome": outcome,
		}
		if ready != "" {
			want["aimodel_operator.ready"], want["aimodel_operator.reason"] = ready, reason
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("the reconcile tells (-want +got)\n%s", diff)
		}
	}
	expect("ok", "True", "Accepted", "finalizer", "check", "status")
	expect("ok", "True", "Accepted", "status") // nothing has changed, and it was checked just now

	w.backend.err = registry.Errorf(registry.Unreachable, "it is down")
	w.forget(name)
	expect("waiting", "False", "Unreachable", "check! it is down", "status")

	w.Client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return apierrors.NewConflict(schema.GroupResource{Resource: "modelregistries"}, "main", nil)
		},
	})
	w.backend.err = nil
	w.forget(name)
	steps, told := w.traced()
	if len(steps) != 2 || told["aimodel_operator.outcome"] != "overtaken" {
		t.Errorf("after a conflict: steps %q, %v", steps, told)
	}
	w.Client = w.client

	for _, object := range []client.Object{newUser(), newRegistry()} {
		if err := w.client.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	expect("deleted", "", "", "finalizer")
	expect("gone", "", "")
}
