package serving

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/values"
)

func renders(t *testing.T) uint64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var count uint64
	for _, family := range families {
		if family.GetName() != "aimodel_operator_render_duration_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			count += metric.GetHistogram().GetSampleCount()
		}
	}
	return count
}

func TestRenderingsAreRemembered(t *testing.T) {
	c := newCluster(t)
	p := newPipeline(t, c)
	m := model()
	for _, step := range []struct {
		name        string
		change      func()
		wantRenders uint64
		wantWrites  bool
	}{
		{"the first pass", func() {}, 1, true},
		{"nothing changed", func() {}, 0, false},
		{"a label, which no child shows", func() { m.Labels = map[string]string{"a": "b"} }, 0, false},
		{"another image", func() { m.Spec.Image = "server:2" }, 1, true},
		{"and again nothing", func() {}, 0, false},
		{"it was forgotten", func() { p.Forget(resolve.KindAIModel, client.ObjectKeyFromObject(m)) }, 1, false},
	} {
		step.change()
		rendersBefore, writesBefore := renders(t), c.writes
		if _, err := pass(t, p, m); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := renders(t) - rendersBefore; got != step.wantRenders {
			t.Errorf("%s: %d renderings, want %d", step.name, got, step.wantRenders)
		}
		if got := c.writes > writesBefore; got != step.wantWrites {
			t.Errorf("%s: writes children: %v, want %v", step.name, got, step.wantWrites)
		}
	}
	again := model()
	again.UID = "another-llama"
	before := renders(t)
	if _, err := pass(t, p, again); err != nil {
		t.Fatal(err)
	}
	if got := condition(again, "Applied"); got != "False Conflict" || renders(t) != before+1 {
		t.Errorf("another owner of that name: Applied = %s, %d renderings; want a conflict and one", got, renders(t)-before)
	}
}

func TestWhatCannotBeRenderedIsNotTriedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*resolve.Inputs)
		want   string
	}{
		"a source that the runtime cannot read": {func(in *resolve.Inputs) {
			in.Runtime, in.Model.Source = aiv1.Runtime{Name: aiv1.RuntimeVLLM}, &aiv1.ModelSource{URI: "s3://b/m"}
		}, "False SourceNotSupported"},
		"a format that the runtime cannot load": {func(in *resolve.Inputs) {
			in.Runtime, in.Model.Source, in.Model.Format = aiv1.Runtime{Name: aiv1.RuntimeVLLM}, &aiv1.ModelSource{URI: "hf://a/b"}, &aiv1.ModelFormat{Name: "onnx"}
		}, "False FormatNotSupported"},
		"chart values that are no object":   {func(in *resolve.Inputs) { in.ChartValues = []byte(`[1]`) }, "False InvalidChartValues"},
		"chart values that the chart lacks": {func(in *resolve.Inputs) { in.ChartValues = []byte(`{"nonsense": 1}`) }, "False InvalidChartValues"},
		"a runtime that is not known":       {func(in *resolve.Inputs) { in.Runtime.Name = "nonsense" }, "False RenderFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			m := model()
			scope := scopeOf(m)
			result, err := newPipeline(t, c).Run(t.Context(), scope, func(ctx context.Context, scope *Scope) error {
				err := fromSpec(ctx, scope)
				tc.change(scope.Inputs)
				return err
			})
			WriteStatus(scope)
			if err != nil || result.RequeueAfter != 0 || c.writes != 0 {
				t.Errorf("error = %v, comes back after %s, %d writes", err, result.RequeueAfter, c.writes)
			}
			if got := condition(m, "Applied"); got != tc.want {
				t.Errorf("Applied = %s, want %s", got, tc.want)
			}
		})
	}
	if got := renderFailure(values.ErrSourceNotSupported); got.Reason != aiv1.ReasonSourceNotSupported {
		t.Errorf("reason = %s", got.Reason)
	}
}
