package serving

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// counts makes the Deployment of want replicas with that many of each sort.
func counts(want, total, updated, ready, available int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Spec:       appsv1.DeploymentSpec{Replicas: &want},
		Status: appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: total, UpdatedReplicas: updated,
			ReadyReplicas: ready, AvailableReplicas: available},
	}
}

func TestRollout(t *testing.T) {
	crash := &diagnose.Finding{Reason: aiv1.ReasonCrashLoop, Message: "it ended"}
	unobserved := counts(2, 2, 2, 2, 2)
	unobserved.Status.ObservedGeneration = 1
	overdue := counts(2, 3, 1, 2, 2)
	overdue.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"},
		{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"},
	}
	byDefault := counts(1, 1, 1, 1, 1)
	byDefault.Spec.Replicas = nil
	for name, tc := range map[string]struct {
		deployment *appsv1.Deployment
		finding    *diagnose.Finding
		changed    []apply.Change

		wantSettled                    bool
		wantAvailable, wantProgressing string
		wantReplicas                   string
	}{
		"settled":                          {deployment: counts(2, 2, 2, 2, 2), wantSettled: true, wantAvailable: "True ReplicasAvailable: 2 of 2 replicas are available", wantProgressing: "False Stable: ", wantReplicas: "True Ready: 2 of 2 replicas are available"},
		"settled, by default on one":       {deployment: byDefault, wantSettled: true, wantAvailable: "True ReplicasAvailable: 1 of 1 replicas are available", wantProgressing: "False Stable: ", wantReplicas: "True Ready: 1 of 1 replicas are available"},
		"zero":                             {deployment: counts(0, 0, 0, 0, 0), wantSettled: true, wantAvailable: "False ScaledToZero: no replica is asked for", wantProgressing: "False Stable: ", wantReplicas: "True ScaledToZero: no replica is asked for"},
		"on the way to zero":               {deployment: counts(0, 1, 1, 1, 1), wantAvailable: "True ReplicasAvailable: 1 of 0 replicas are available", wantProgressing: "True Scaling: 1 of 0 replicas are available", wantReplicas: "False Scaling: 1 of 0 replicas are available"},
		"the first start":                  {deployment: counts(2, 2, 2, 0, 0), wantAvailable: "False NoReplicaAvailable: 0 of 2 replicas are available", wantProgressing: "True RollingOut: 0 of 2 replicas are available", wantReplicas: "False RollingOut: 0 of 2 replicas are available"},
		"scaling up":                       {deployment: counts(3, 3, 3, 1, 1), wantAvailable: "True ReplicasAvailable: 1 of 3 replicas are available", wantProgressing: "True Scaling: 1 of 3 replicas are available", wantReplicas: "False Scaling: 1 of 3 replicas are available"},
		"scaling down":                     {deployment: counts(1, 2, 2, 2, 2), wantAvailable: "True ReplicasAvailable: 2 of 1 replicas are available", wantProgressing: "True Scaling: 2 of 1 replicas are available", wantReplicas: "False Scaling: 2 of 1 replicas are available"},
		"rolling out":                      {deployment: counts(2, 3, 1, 2, 2), wantAvailable: "True ReplicasAvailable: 2 of 2 replicas are available", wantProgressing: "True RollingOut: 2 of 2 replicas are available", wantReplicas: "False RollingOut: 2 of 2 replicas are available"},
		"ready, not yet available":         {deployment: counts(1, 1, 1, 1, 0), wantAvailable: "False NoReplicaAvailable: 0 of 1 replicas are available", wantProgressing: "True RollingOut: 0 of 1 replicas are available", wantReplicas: "False RollingOut: 0 of 1 replicas are available"},
		"the new spec was not seen yet":    {deployment: unobserved, wantAvailable: "True ReplicasAvailable: 2 of 2 replicas are available", wantProgressing: "True RollingOut: 2 of 2 replicas are available", wantReplicas: "False RollingOut: 2 of 2 replicas are available"},
		"this pass changed the Deployment": {deployment: counts(2, 2, 2, 2, 2), changed: []apply.Change{{Kind: "Deployment"}}, wantAvailable: "True ReplicasAvailable: 2 of 2 replicas are available", wantProgressing: "True RollingOut: 2 of 2 replicas are available", wantReplicas: "False RollingOut: 2 of 2 replicas are available"},
		"this pass changed the Service":    {deployment: counts(2, 2, 2, 2, 2), changed: []apply.Change{{Kind: "Service"}}, wantSettled: true, wantAvailable: "True ReplicasAvailable: 2 of 2 replicas are available", wantProgressing: "False Stable: ", wantReplicas: "True Ready: 2 of 2 replicas are available"},
		"overdue":                          {deployment: overdue, wantAvailable: "True ReplicasAvailable: 2 of 2 replicas are available", wantProgressing: "False ProgressDeadlineExceeded: the rollout made no progress within its deadline", wantReplicas: "False ProgressDeadlineExceeded: the rollout made no progress within its deadline"},
		"overdue, and a pod tells why":     {deployment: overdue, finding: crash, wantAvailable: "True ReplicasAvailable: 2 of 2 replicas are available", wantProgressing: "False CrashLoop: it ended", wantReplicas: "False CrashLoop: it ended"},
		"a pod crashes, none is available": {deployment: counts(1, 1, 1, 0, 0), finding: crash, wantAvailable: "False CrashLoop: it ended", wantProgressing: "False CrashLoop: it ended", wantReplicas: "False CrashLoop: it ended"},
		"a pod crashes, another answers":   {deployment: counts(2, 2, 2, 1, 1), finding: crash, wantAvailable: "True ReplicasAvailable: 1 of 2 replicas are available", wantProgressing: "False CrashLoop: it ended", wantReplicas: "False CrashLoop: it ended"},
	} {
		t.Run(name, func(t *testing.T) {
			scope := &Scope{Deployment: tc.deployment, changes: tc.changed}
			state := rollout(scope)
			if state.settled != tc.wantSettled {
				t.Errorf("settled = %v, want %v", state.settled, tc.wantSettled)
			}
			var set conditions.Set
			if tc.finding == nil {
				tc.finding = diagnose.Diagnose(diagnose.Facts{Deployment: tc.deployment}).Primary()
			}
			state.report(&set, tc.finding)
			for what, pair := range map[string][2]string{
				"Available":   {tc.wantAvailable, text(set.Available)},
				"Progressing": {tc.wantProgressing, text(set.Progressing)},
				"Replicas":    {tc.wantReplicas, text(set.Replicas)},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s = %s\nwant %s", what, pair[1], pair[0])
				}
			}
		})
	}
}

func text(o conditions.Outcome) string { return string(o.Status) + " " + o.Reason + ": " + o.Message }

func TestADeploymentThatIsNotTheLatestIsNotSettled(t *testing.T) {
	rendered := counts(1, 1, 1, 1, 1)
	rendered.Name = "llama"
	object, err := apply.Prepare(rendered, metav1.OwnerReference{UID: "a"}, testScheme(t))
	if err != nil {
		t.Fatal(err)
	}
	scope := &Scope{Deployment: counts(1, 1, 1, 1, 1), objects: []apply.Object{object}}
	if rollout(scope).settled {
		t.Error("a Deployment without the mark of this rendering is taken for settled")
	}
}

func TestWithoutADeployment(t *testing.T) {
	idle := conditions.True(aiv1.ReasonCatalogued, "named")
	for name, tc := range map[string]struct {
		scope                                        Scope
		wantAvailable, wantProgressing, wantReplicas string
	}{
		"nothing is to run":       {Scope{Idle: idle, applied: true}, "False Catalogued: named", "False Catalogued: named", "True Catalogued: named"},
		"it was just created":     {Scope{applied: true}, "False NoReplicaAvailable: no replica has been started yet", "True RollingOut: no replica has been started yet", "False RollingOut: no replica has been started yet"},
		"it could not be created": {Scope{}, "False NoReplicaAvailable: no replica has been started yet", "False NoReplicaAvailable: no replica has been started yet", "False NoReplicaAvailable: no replica has been started yet"},
	} {
		t.Run(name, func(t *testing.T) {
			observeNothing(&tc.scope)
			set := tc.scope.Conditions
			got := []string{text(set.Available), text(set.Progressing), text(set.Replicas)}
			if diff := cmp.Diff([]string{tc.wantAvailable, tc.wantProgressing, tc.wantReplicas}, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

// sent is a recorder that remembers.
type sent struct{ events []Event }

func (s *sent) Eventf(_, _ runtime.Object, kind, reason, action, _ string, args ...any) {
	note, _ := args[0].(string)
	s.events = append(s.events, Event{kind, reason, action, note})
}

func TestEvents(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: aiv1.ConditionReady, Status: status, Reason: reason, Message: message}}
	}
	scaling := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: aiv1.ConditionScalingActive, Status: status, Reason: reason, Message: message}}
	}
	for name, tc := range map[string]struct {
		before, after []metav1.Condition
		changes       []apply.Change
		want          []Event
	}{
		"nothing was written": {},
		"became ready":        {before: ready("False", "RollingOut", ""), after: ready("True", "Ready", "1 of 1"), want: []Event{{"Normal", "Ready", "Reconcile", "1 of 1"}}},
		"is ready at once":    {after: ready("True", "Ready", ""), want: []Event{{"Normal", "Ready", "Reconcile", "Ready"}}},
		"stays ready":         {before: ready("True", "Ready", "1 of 1"), after: ready("True", "Ready", "2 of 2")},
		"starts":              {after: ready("False", "RollingOut", "0 of 1")},
		"starts, then scales": {before: ready("False", "RollingOut", ""), after: ready("False", "Scaling", "1 of 2")},
		"is not ready any more, for a rollout": {before: ready("True", "Ready", ""), after: ready("False", "RollingOut", "0 of 1"),
			want: []Event{{"Normal", "RollingOut", "Reconcile", "0 of 1"}}},
		"is in trouble": {before: ready("False", "RollingOut", ""), after: ready("False", "CrashLoop", "it ended"),
			want: []Event{{"Warning", "CrashLoop", "Reconcile", "it ended"}}},
		"stays in trouble, in other words": {before: ready("False", "CrashLoop", "a"), after: ready("False", "CrashLoop", "b")},
		"another trouble": {before: ready("False", "CrashLoop", "a"), after: ready("False", "OOMKilled", "b"),
			want: []Event{{"Warning", "OOMKilled", "Reconcile", "b"}}},
		"waits for its model": {after: ready("False", "ModelNotObserved", "not yet")},
		"has a model that does not resolve": {after: ready("False", "ModelNotResolved", "no Secret"),
			want: []Event{{"Warning", "ModelNotResolved", "Reconcile", "no Secret"}}},
		"is paused": {before: ready("True", "Ready", ""), after: ready("Unknown", "Paused", "by you"),
			want: []Event{{"Normal", "Paused", "Reconcile", "by you"}}},
		"does not scale any more": {before: scaling("True", "ScalingActive", ""), after: scaling("False", "ScalingInactive", "no metrics"),
			want: []Event{{"Warning", "ScalingInactive", "Reconcile", "no metrics"}}},
		"never scaled":              {before: scaling("Unknown", "ScalingNotObserved", ""), after: scaling("False", "ScalingInactive", "no metrics"), want: []Event{{"Warning", "ScalingInactive", "Reconcile", "no metrics"}}},
		"still does not scale":      {before: scaling("False", "ScalingInactive", "a"), after: scaling("False", "ScalingInactive", "b")},
		"scales again":              {before: scaling("False", "ScalingInactive", ""), after: scaling("True", "ScalingActive", ""), want: []Event{{"Normal", "ScalingActive", "Reconcile", "the autoscaler scales again"}}},
		"scales for the first time": {before: scaling("Unknown", "ScalingNotObserved", ""), after: scaling("True", "ScalingActive", "")},
		"lost its autoscaler":       {before: scaling("False", "ScalingInactive", "")},
		"children": {
			changes: []apply.Change{{Action: apply.Created, Kind: "Service", Name: "a"}, {Action: apply.Updated, Kind: "Deployment", Name: "a"},
				{Action: apply.Repaired, Kind: "Deployment", Name: "a"}, {Action: apply.Deleted, Kind: "Service", Name: "b"},
				{Action: apply.Deleted, Kind: "ServiceAccount", Name: "b"}},
			want: []Event{
				{"Normal", "Repaired", "Apply", "Deployment a had been changed by somebody else and was put back"},
				{"Normal", "Deleted", "Apply", "Service b, ServiceAccount b are no longer needed and were deleted"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := &sent{}
			owner := &aiv1.AIModel{Status: aiv1.AIModelStatus{Conditions: tc.after}}
			Record(recorder, owner, tc.before, &Scope{changes: tc.changes})
			if diff := cmp.Diff(tc.want, recorder.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALongNoteIsCut(t *testing.T) {
	for _, message := range []string{strings.Repeat("x", 5000), "a" + strings.Repeat("🦙", 2000), "ab" + strings.Repeat("🦙", 2000)} {
		recorder := &sent{}
		Send(recorder, &aiv1.AIModel{}, Event{Note: message})
		if note := recorder.events[0].Note; len(note) > maxNote || !utf8.ValidString(note) || !strings.HasSuffix(note, "...") {
			t.Errorf("a note of %d bytes that ends with %q", len(note), note[len(note)-8:])
		}
	}
}
