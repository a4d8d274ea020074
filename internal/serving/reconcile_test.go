package serving

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// modelKind is the kind of model() with a resolve step that can fail.
func modelKind(resolveErr error) Kind[*aiv1.AIModel] {
	return Kind[*aiv1.AIModel]{
		Name:      resolve.KindAIModel,
		New:       func() *aiv1.AIModel { return &aiv1.AIModel{} },
		ChildName: func(owner string) string { return owner },
		Resolve: func(ctx context.Context, _ *aiv1.AIModel, scope *Scope) error {
			if resolveErr != nil {
				return resolveErr
			}
			return fromSpec(ctx, scope)
		},
		WriteStatus: func(_ *aiv1.AIModel, scope *Scope) { WriteStatus(scope) },
	}
}

// counted gives, by the value of the label, how often a metric of AIModels was counted or observed.
func counted(t *testing.T, metric, label string) map[string]int {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, pair := range m.GetLabel() {
				if pair.GetName() == label {
					found[pair.GetValue()] += int(m.GetCounter().GetValue()) + int(m.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	return found
}

// grown is what was counted since.
func grown(before, after map[string]int) map[string]int {
	grew := map[string]int{}
	for key, count := range after {
		if count > before[key] {
			grew[key] = count - before[key]
		}
	}
	return grew
}

func TestStepsAreTimedAndErrorsCounted(t *testing.T) {
	all := map[string]int{"resolve": 1, "render": 1, "apply": 1, "observe": 1, "status": 1}
	unresolved := map[string]int{"resolve": 1, "observe": 1, "status": 1}
	for name, tc := range map[string]struct {
		resolveErr error
		refuse     map[string]error
		absent     bool
		wantSteps  map[string]int
		wantErrors map[string]int
		wantRetry  bool
	}{
		"all is well":                 {wantSteps: all},
		"the object is gone":          {absent: true, wantSteps: map[string]int{}},
		"a reference is missing":      {resolveErr: &resolve.Problem{Wakes: true}, wantSteps: unresolved, wantErrors: map[string]int{"waiting": 1}},
		"a reference is wrong":        {resolveErr: &resolve.Problem{Terminal: true}, wantSteps: unresolved, wantErrors: map[string]int{"terminal": 1}},
		"a child is not taken":        {refuse: map[string]error{"Service": errors.New("no")}, wantSteps: all, wantErrors: map[string]int{"transient": 1}, wantRetry: true},
		"status is not taken":         {refuse: map[string]error{"status": apierrors.NewTimeoutError("slow", 1)}, wantSteps: all, wantErrors: map[string]int{"transient": 1}, wantRetry: true},
		"neither is, but this is one": {refuse: map[string]error{"status": errors.New("no"), "Service": errors.New("no")}, wantSteps: all, wantErrors: map[string]int{"transient": 1}, wantRetry: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, model())
			if tc.absent {
				c = newCluster(t)
			}
			if tc.refuse != nil {
				c.refuse = tc.refuse
			}
			steps := counted(t, "aimodel_operator_step_duration_seconds", "step")
			failures := counted(t, "aimodel_operator_reconcile_errors_total", "class")
			_, err := Reconcile(t.Context(), newPipeline(t, c), events.NewFakeRecorder(10), modelKind(tc.resolveErr),
				ctrl.Request{NamespacedName: client.ObjectKeyFromObject(model())})
			if (err != nil) != tc.wantRetry {
				t.Errorf("error = %v", err)
			}
			if diff := cmp.Diff(tc.wantSteps, grown(steps, counted(t, "aimodel_operator_step_duration_seconds", "step"))); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if tc.wantErrors == nil {
				tc.wantErrors = map[string]int{}
			}
			if diff := cmp.Diff(tc.wantErrors, grown(failures, counted(t, "aimodel_operator_reconcile_errors_total", "class"))); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheKindsOfMetricsAreThoseOfOwners(t *testing.T) {
	if diff := cmp.Diff([]string{resolve.KindAIModel, resolve.KindInferenceService}, metrics.Kinds()); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}
