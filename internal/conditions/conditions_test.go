package conditions

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

func TestReadyIsTheFirstThatIsNotTrue(t *testing.T) {
	good := True("Good", "fine")
	no, unsure, never := False("No", "no"), Unknown("Unsure", "?"), Outcome{}
	for name, tc := range map[string]struct {
		set  Set
		want Outcome
	}{
		"all are true":                          {Set{Resolved: good, Applied: good, Replicas: True("Ready", "2 of 2")}, True("Ready", "2 of 2")},
		"not resolved":                          {Set{Resolved: no, Applied: good, Replicas: good}, no},
		"not known whether resolved":            {Set{Resolved: unsure, Applied: good, Replicas: good}, unsure},
		"resolved was not looked at":            {Set{Applied: good, Replicas: good}, never},
		"not applied":                           {Set{Resolved: good, Applied: no, Replicas: good}, no},
		"paused":                                {Set{Resolved: good, Applied: unsure, Replicas: good}, unsure},
		"applied was not looked at":             {Set{Resolved: good, Replicas: good}, never},
		"a replica is missing":                  {Set{Resolved: good, Applied: good, Replicas: no}, no},
		"replicas were not looked at":           {Set{Resolved: good, Applied: good}, never},
		"neither resolved nor applied":          {Set{Resolved: no, Applied: unsure, Replicas: good}, no},
		"neither applied nor all there":         {Set{Resolved: good, Applied: unsure, Replicas: no}, unsure},
		"available and progressing say nothing": {Set{Resolved: good, Applied: good, Replicas: good, Available: no, Progressing: no}, good},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.set.Ready(); got != tc.want {
				t.Errorf("Ready = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestEveryConditionIsWritten(t *testing.T) {
	model := &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Generation: 7}}
	Write(model, Set{Resolved: True("ReferencesResolved", "")})
	got := map[string]string{}
	for _, condition := range model.Status.Conditions {
		got[condition.Type] = string(condition.Status) + " " + condition.Reason
		if condition.ObservedGeneration != 7 || condition.LastTransitionTime.IsZero() {
			t.Errorf("%s: generation %d, time %s", condition.Type, condition.ObservedGeneration, condition.LastTransitionTime)
		}
	}
	want := map[string]string{
		"Ready":       "Unknown NotObserved",
		"Resolved":    "True ReferencesResolved",
		"Applied":     "Unknown NotObserved",
		"Available":   "Unknown NotObserved",
		"Progressing": "Unknown NotObserved",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestTheTimeOfAConditionMovesWithItsStatusOnly(t *testing.T) {
	long := metav1.NewTime(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	for name, tc := range map[string]struct {
		now  Outcome
		want bool
	}{
		"the same":               {True("Old", "old"), true},
		"another message":        {True("Old", "new"), true},
		"another reason":         {True("New", "old"), true},
		"another status":         {False("Old", "old"), false},
		"is not known any more":  {Outcome{}, false},
		"is told to be unknown ": {Unknown("Old", "old"), false},
	} {
		t.Run(name, func(t *testing.T) {
			foreign := metav1.Condition{Type: "Foreign", Status: metav1.ConditionTrue, LastTransitionTime: long}
			before := []metav1.Condition{foreign, {Type: aiv1.ConditionApplied, Status: metav1.ConditionTrue, Reason: "Old", Message: "old", LastTransitionTime: long}}
			model := &aiv1.AIModel{Status: aiv1.AIModelStatus{Conditions: before}}
			Write(model, Set{Applied: tc.now})
			applied := meta.FindStatusCondition(model.Status.Conditions, aiv1.ConditionApplied)
			if got := applied.LastTransitionTime.Equal(&long); got != tc.want {
				t.Errorf("the time is kept: %v, want %v", got, tc.want)
			}
			if before[1].Message != "old" || before[1].Status != metav1.ConditionTrue {
				t.Error("what was read was changed")
			}
			if got := meta.FindStatusCondition(model.Status.Conditions, "Foreign"); got == nil || *got != foreign {
				t.Error("a foreign condition was touched")
			}
		})
	}
}

func TestALongMessageIsCut(t *testing.T) {
	model := &aiv1.AIModel{}
	Write(model, Set{Applied: False("Invalid", "x"+strings.Repeat("🦙", 100_000))})
	message := meta.FindStatusCondition(model.Status.Conditions, aiv1.ConditionApplied).Message
	if len(message) > maxMessage+len("...") || !utf8.ValidString(message) || !strings.HasSuffix(message, "...") {
		t.Errorf("%d bytes, ends with %q", len(message), message[len(message)-8:])
	}
}

func TestIsTrue(t *testing.T) {
	for outcome, want := range map[Outcome]bool{True("A", ""): true, False("A", ""): false, Unknown("A", ""): false, {}: false} {
		if got := outcome.IsTrue(); got != want {
			t.Errorf("IsTrue of %v = %v, want %v", outcome, got, want)
		}
	}
}

func TestOnlyAnObjectWithAnAutoscalerSaysWhetherItScales(t *testing.T) {
	object := &aiv1.AIModel{}
	for _, step := range []struct {
		scaling Outcome
		want    string
	}{
		{Outcome{}, ""},
		{False(aiv1.ReasonScalingInactive, "no metrics"), "False ScalingInactive"},
		{True(aiv1.ReasonScalingActive, ""), "True ScalingActive"},
		{Outcome{}, ""},
	} {
		Write(object, Set{Resolved: True("A", ""), Applied: True("A", ""), Replicas: True("B", ""), Scaling: step.scaling})
		got := ""
		if found := meta.FindStatusCondition(object.Status.Conditions, aiv1.ConditionScalingActive); found != nil {
			got = string(found.Status) + " " + found.Reason
		}
		if got != step.want {
			t.Errorf("ScalingActive = %q, want %q", got, step.want)
		}
		if !meta.IsStatusConditionTrue(object.Status.Conditions, aiv1.ConditionReady) {
			t.Errorf("%q keeps the object from being ready", step.want)
		}
	}
}
