package metrics

import (
	"strings"
	"testing"
	"time"

	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// gathered gives the number of samples, or the count, of our metrics by their labels.
func gathered(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "aimodel_operator_") {
			continue
		}
		if family.GetHelp() == "" {
			t.Errorf("%s has no help", family.GetName())
		}
		for _, metric := range family.GetMetric() {
			key := family.GetName()
			for _, label := range metric.GetLabel() {
				key += " " + label.GetName() + "=" + label.GetValue()
			}
			got[key] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return got
}

func TestWhatIsCounted(t *testing.T) {
	renders := "aimodel_operator_render_duration_seconds kind=AIModel"
	before := gathered(t)
	CountChange("AIModel", "Created")
	CountChange("AIModel", "Created")
	CountChange("InferenceService", "Deleted")
	end := TimeRender("AIModel")
	if got := gathered(t)[renders]; got != before[renders] {
		t.Error("a rendering is counted before its end")
	}
	end()
	after := gathered(t)
	for key, want := range map[string]float64{
		"aimodel_operator_child_changes_total action=Created kind=AIModel":          2,
		"aimodel_operator_child_changes_total action=Deleted kind=InferenceService": 1,
		renders: 1,
	} {
		if got := after[key] - before[key]; got != want {
			t.Errorf("%s grew by %v, want %v; all: %v", key, got, want, after)
		}
	}
}

// BenchmarkPass is what a pass over an unchanged object pays for its metrics.
func BenchmarkPass(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for _, step := range []string{StepResolve, StepRender, StepApply, StepObserve, StepStatus} {
			start := time.Now()
			ObserveStep("AIModel", step, time.Since(start))
		}
	}
}
