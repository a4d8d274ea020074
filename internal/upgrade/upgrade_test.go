package upgrade

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

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
		"an earlier cleanup was given up": {cause: Cleanups, objects: []client.Object{modelWith("a", true, ours, conditionsOf("CleanedUp", "True", "Skipped"))}, reason: ReasonCleaningUp, about: "AIModel team/a is being cleaned up."},
		"the registry works on a cleanup": {cause: Cleanups, objects: []client.Object{modelWith("a", true, ours, conditionsOf("CleanedUp", "False", "InProgress"))}, reason: ReasonCleaningUp, about: "AIModel team/a is being cleaned up."},
		"it does so for ever":             {cause: Cleanups, objects: []client.Object{deletedBefore(modelWith("a", true, ours, conditionsOf("CleanedUp", "False", "InProgress")), time.Hour)}},
		"a cleanup never began":           {cause: Cleanups, objects: []client.Object{deletedBefore(modelWith("a", true, ours, nil), time.Hour)}},
		"a reason of the future":          {cause: Cleanups, objects: []client.Object{modelWith("a", true, ours, conditionsOf("CleanedUp", "False", "Pondering"))}},
	} {
		t.Run(name, func(t *testing.T) {
			reason, about, err := tc.cause(t.Context(), reader(t, tc.objects...))
			if err != nil || reason != tc.reason || about != tc.about {
				t.Errorf("%q %q %v, want %q %q", reason, about, err, tc.reason, tc.about)
			}
		})
	}
}

func deletedBefore(model *aiv1.AIModel, ago time.Duration) *aiv1.AIModel {
	at := metav1.NewTime(time.Now().Add(-ago))
	model.DeletionTimestamp = &at
	return model
}

// Every reason that a cleanup can stop for has to be decided on: a new one may not hold upgrades back, nor let one in between, by chance.
func TestEveryReasonOfACleanupIsDecidedOn(t *testing.T) {
	reasons := append(constants(t, "../../api/v1/registry_types.go", "Reason"), aiv1.ReasonConflict, aiv1.ReasonInvalid)
	reasons = append(reasons, constants(t, "../registry/errors.go", "")...)
	if len(reasons) < 20 {
		t.Fatalf("only %q were found", reasons)
	}
	for _, reason := range reasons {
		holds, decided := works[reason]
		if !decided {
			t.Errorf("Does a cleanup with the reason %s go on by itself? Add it to works.", reason)
		}
		told, _, err := Cleanups(t.Context(), reader(t, modelWith("a", true, aiv1.FinalizerRegistryCleanup, conditionsOf(aiv1.ConditionCleanedUp, "False", reason))))
		if err != nil || (told != "") != holds {
			t.Errorf("%s: %q, %v", reason, told, err)
		}
	}
}

// constants are the values of a file's string constants whose names have a prefix and that are typed or named as reasons are.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, declared := range parsed.Decls {
		group, ok := declared.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value := spec.(*ast.ValueSpec)
			named, typed := value.Type.(*ast.Ident)
			if prefix != "" && !strings.HasPrefix(value.Names[0].Name, prefix) || prefix == "" && (!typed || named.Name != "Reason") {
				continue
			}
			text, err := strconv.Unquote(value.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, text)
		}
	}
	return values
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
