package upgrade

import (
	"context"
	"errors"
	"testing"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

func conditionsOf(kind, status, reason string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason}}
}

func modelWith(name string, leaving bool, finalizer string, reported []metav1.Condition) *aiv1.AIModel {
	model := &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	model.Status.Conditions = reported
	if finalizer != "" {
		model.Finalizers = []string{finalizer}
	}
	if leaving {
		now := metav1.Now()
		model.DeletionTimestamp = &now
	}
	return model
}

func reader(t *testing.T, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := aiv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func TestCauses(t *testing.T) {
	const ours = "ai.example.com/registry-cleanup"
	rolling := conditionsOf(aiv1.ConditionProgressing, "True", aiv1.ReasonRollingOut)
	service := &aiv1.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "llama"}}
	service.Status.Conditions = rolling
	for name, tc := range map[string]struct {
		cause         Cause
		objects       []client.Object
		reason, about string
	}{
		"nothing is there":                {cause: Rollouts},
		"a model is stable":               {cause: Rollouts, objects: []client.Object{modelWith("a", false, "", conditionsOf(aiv1.ConditionProgressing, "False", aiv1.ReasonStable))}},
		"a model rolls out":               {cause: Rollouts, objects: []client.Object{modelWith("a", false, "", rolling)}, reason: ReasonRollingOut, about: "AIModel team/a is being rolled out."},
		"a service rolls out":             {cause: Rollouts, objects: []client.Object{service}, reason: ReasonRollingOut, about: "InferenceService team/llama is being rolled out."},
		"the first by name is told":       {cause: Rollouts, objects: []client.Object{modelWith("b", false, "", rolling), modelWith("a", false, "", rolling), service}, reason: ReasonRollingOut, about: "AIModel team/a is being rolled out."},
		"scaling is no rollout":           {cause: Rollouts, objects: []client.Object{modelWith("a", false, "", conditionsOf(aiv1.ConditionProgressing, "True", aiv1.ReasonScaling))}},
		"a stuck rollout may take long":   {cause: Rollouts, objects: []client.Object{modelWith("a", false, "", conditionsOf(aiv1.ConditionProgressing, "False", aiv1.ReasonCrashLoop))}},
		"a finalizer alone is no cleanup": {cause: Cleanups, objects: []client.Object{modelWith("a", false, ours, nil)}},
		"a cleanup runs":                  {cause: Cleanups, objects: []client.Object{modelWith("a", true, ours, nil)}, reason: ReasonCleaningUp, about: "AIModel team/a is being cleaned up."},
		"somebody else's finalizer":       {cause: Cleanups, objects: []client.Object{modelWith("a", true, "example.org/theirs", nil)}},
		"a cleanup is blocked":            {cause: Cleanups, objects: []client.Object{modelWith("a", true, ours, conditionsOf("CleanedUp", "False", "Blocked"))}},
	} {
		t.Run(name, func(t *testing.T) {
			reason, about, err := tc.cause(t.Context(), reader(t, tc.objects...))
			if err != nil || reason != tc.reason || about != tc.about {
				t.Errorf("%q %q %v, want %q %q", reason, about, err, tc.reason, tc.about)
			}
		})
	}
}

// written is an OperatorCondition that counts its writes and fails as often as it is told to.
type written struct {
	conditions.Condition
	fails  []error
	writes int
	last   metav1.Condition
}

func (w *written) Set(_ context.Context, status metav1.ConditionStatus, options ...conditions.Option) error {
	w.writes++
	if len(w.fails) > 0 {
		err := w.fails[0]
		w.fails = w.fails[1:]
		return err
	}
	w.last = metav1.Condition{Status: status}
	for _, option := range options {
		option(&w.last)
	}
	return nil
}

func TestTheReporterWritesOnlyWhatChanged(t *testing.T) {
	group := schema.GroupResource{Group: apiv2.GroupVersion.Group, Resource: "operatorconditions"}
	condition := &written{fails: []error{apierrors.NewConflict(group, "it", errors.New("it moved"))}}
	reason := ReasonRollingOut
	r := &reporter{condition: condition, causes: []Cause{func(context.Context, client.Reader) (string, string, error) { return reason, "why", nil }}}
	for range 3 {
		if err := r.report(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if condition.writes != 2 || condition.last.Status != metav1.ConditionFalse || condition.last.Reason != ReasonRollingOut || condition.last.Message != "why" {
		t.Errorf("%d writes, the last %+v; want one that conflicts and one that says why", condition.writes, condition.last)
	}
	reason = ""
	if err := r.report(t.Context()); err != nil || condition.last.Status != metav1.ConditionTrue || condition.last.Reason != ReasonIdle {
		t.Errorf("after it ended: %+v, %v", condition.last, err)
	}
}

func TestTheReporterGoesOnAfterAFailure(t *testing.T) {
	condition := &written{fails: []error{errors.New("no answer")}}
	r := &reporter{condition: condition}
	if r.report(t.Context()) == nil {
		t.Error("the failure is not told")
	}
	if err := r.report(t.Context()); err != nil || condition.writes != 2 {
		t.Errorf("%d writes, %v; want a second one", condition.writes, err)
	}
	missing := &written{fails: []error{apierrors.NewNotFound(schema.GroupResource{}, "it")}}
	r = &reporter{condition: missing}
	for range 2 {
		if err := r.report(t.Context()); err != nil {
			t.Errorf("a missing OperatorCondition is an error: %v", err)
		}
	}
	if missing.writes != 1 {
		t.Errorf("it was looked for %d times", missing.writes)
	}
}

func TestACauseThatCannotBeAskedChangesNothing(t *testing.T) {
	condition := &written{}
	r := &reporter{condition: condition, causes: []Cause{func(context.Context, client.Reader) (string, string, error) { return "", "", errors.New("no cache") }}}
	if err := r.report(t.Context()); err == nil || condition.writes != 0 {
		t.Errorf("%v after %d writes", err, condition.writes)
	}
}
