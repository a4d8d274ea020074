package serving

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

func TestAPassThatSucceeds(t *testing.T) {
	c := newCluster(t)
	m := model()
	scope, err := pass(t, newPipeline(t, c), m)
	if err != nil {
		t.Fatal(err)
	}
	want := []aiv1.InventoryEntry{
		{APIVersion: "v1", Kind: "ServiceAccount", Name: "llama"},
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "llama"},
		{APIVersion: "v1", Kind: "Service", Name: "llama"},
	}
	if diff := cmp.Diff(want, m.Status.Inventory); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	if want := "http://llama.team-a.svc.cluster.local:80"; !scope.URLKnown || scope.URL != want {
		t.Errorf("URL = %q, known: %v; want %q", scope.URL, scope.URLKnown, want)
	}
	if m.Status.Selector == "" || m.Status.ObservedGeneration != 1 {
		t.Errorf("selector = %q, generation = %d", m.Status.Selector, m.Status.ObservedGeneration)
	}
	for kind, want := range map[string]string{"Resolved": "True ReferencesResolved", "Applied": "True ObjectsApplied", "Ready": "False RollingOut"} {
		if got := condition(m, kind); got != want {
			t.Errorf("%s = %s, want %s", kind, got, want)
		}
	}
}

func TestAfterAFailureNothingIsForgotten(t *testing.T) {
	old := aiv1.InventoryEntry{APIVersion: "policy/v1", Kind: "PodDisruptionBudget", Name: "llama"}
	c := newCluster(t)
	c.refuse["Deployment"] = apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "llama", errors.New("exceeded quota: a"))
	p := newPipeline(t, c)
	m := model()
	m.Status.Inventory = []aiv1.InventoryEntry{old}
	m.Status.Selector = "kept=yes"
	if _, err := pass(t, p, m); err != nil {
		t.Fatalf("error = %v, want a wait: nothing is retried at once", err)
	}
	want := []aiv1.InventoryEntry{
		{APIVersion: "apps/v1", Kind: "Deployment", Name: "llama"}, old,
		{APIVersion: "v1", Kind: "Service", Name: "llama"}, {APIVersion: "v1", Kind: "ServiceAccount", Name: "llama"},
	}
	if diff := cmp.Diff(want, m.Status.Inventory, cmpopts.SortSlices(func(a, b aiv1.InventoryEntry) bool { return a.Kind < b.Kind })); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	if got := condition(m, "Applied"); got != "False QuotaExceeded" {
		t.Errorf("Applied = %s", got)
	}
	if got := condition(m, "Ready"); got != "False QuotaExceeded" {
		t.Errorf("Ready = %s", got)
	}

	delete(c.refuse, "Deployment")
	if _, err := pass(t, p, m); err != nil {
		t.Fatal(err)
	}
	if len(m.Status.Inventory) != 3 {
		t.Errorf("inventory = %v, want what is rendered only", m.Status.Inventory)
	}
}

func TestAnUnrecordedChildIsPrunedEvenAfterAFailure(t *testing.T) {
	m := model()
	lost := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama",
		OwnerReferences: []metav1.OwnerReference{scopeOf(m).ownerReference()}}}
	c := newCluster(t, lost)
	c.refuse["Deployment"] = apierrors.NewTimeoutError("slow", 1)
	p := newPipeline(t, c)
	// The status of this pass is lost as well: a copy takes it.
	if _, err := pass(t, p, m.DeepCopy()); err == nil {
		t.Fatal("no error")
	}
	delete(c.refuse, "Deployment")
	scope, err := pass(t, p, m)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Get(t.Context(), client.ObjectKeyFromObject(lost), &policyv1.PodDisruptionBudget{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the lost child is still there (%v); changes: %v", err, scope.changes)
	}
}

func TestAnObjectThatRunsNothing(t *testing.T) {
	c := newCluster(t)
	m := model()
	m.Spec.Image = ""
	scope := scopeOf(m)
	_, err := newPipeline(t, c).Run(t.Context(), scope, func(_ context.Context, scope *Scope) error {
		scope.Idle = conditions.True(aiv1.ReasonCatalogued, "named")
		return nil
	})
	WriteStatus(scope)
	if err != nil || c.writes != 0 {
		t.Errorf("error = %v, %d writes", err, c.writes)
	}
	for kind, want := range map[string]string{"Applied": "True NothingToApply", "Ready": "True Catalogued", "Available": "False Catalogued"} {
		if got := condition(m, kind); got != want {
			t.Errorf("%s = %s, want %s", kind, got, want)
		}
	}
	if scope.URL != "" || !scope.URLKnown {
		t.Errorf("URL = %q, known: %v", scope.URL, scope.URLKnown)
	}
}

func TestPausedAndUnresolvedObjectsAreLeftAsTheyAre(t *testing.T) {
	problem := &resolve.Problem{Reason: aiv1.ReasonSecretNotFound, Message: "no Secret"}
	for name, tc := range map[string]struct {
		paused       bool
		resolve      Step
		wantResolved string
		wantApplied  string
		wantReady    string
		wantWait     bool
		wantErr      bool
	}{
		"paused":     {true, fromSpec, "True ReferencesResolved", "Unknown Paused", "Unknown Paused", false, false},
		"unresolved": {false, func(context.Context, *Scope) error { return problem }, "False SecretNotFound", "Unknown WaitingForReferences", "False SecretNotFound", true, false},
		"unread": {false, func(context.Context, *Scope) error { return apierrors.NewTimeoutError("slow", 1) },
			"Unknown ReadFailed", "Unknown WaitingForReferences", "Unknown ReadFailed", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			p := newPipeline(t, c)
			m := model()
			if _, err := pass(t, p, m); err != nil {
				t.Fatal(err)
			}
			before, writes := m.Status.DeepCopy(), c.writes
			if tc.paused {
				m.Annotations = map[string]string{aiv1.AnnotationPaused: "true"}
			}
			m.Spec.Image = "server:2"
			scope := scopeOf(m)
			result, err := p.Run(t.Context(), scope, tc.resolve)
			WriteStatus(scope)
			if (err != nil) != tc.wantErr || (result.RequeueAfter > 0) != tc.wantWait {
				t.Errorf("error = %v, comes back after %s", err, result.RequeueAfter)
			}
			if c.writes != writes {
				t.Errorf("%d writes", c.writes-writes)
			}
			if diff := cmp.Diff(before.ServingStatus, m.Status.ServingStatus, cmpopts.IgnoreFields(aiv1.ServingStatus{}, "Failure")); diff != "" {
				t.Errorf("the inventory and the selector changed (-before +after):\n%s", diff)
			}
			for kind, want := range map[string]string{"Resolved": tc.wantResolved, "Applied": tc.wantApplied, "Ready": tc.wantReady} {
				if got := condition(m, kind); got != want {
					t.Errorf("%s = %s, want %s", kind, got, want)
				}
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	timeout := apierrors.NewTimeoutError("slow", 1)
	for name, tc := range map[string]struct {
		err       error
		wantClass metrics.ErrorClass
		wantWait  bool
		wantRetry bool
	}{
		"no error":                         {nil, "", false, false},
		"cannot be rendered":               {&terminalError{errors.New("x")}, metrics.Terminal, false, false},
		"a child is being deleted":         {fmt.Errorf("apply: %w", &apply.TerminatingError{Kind: "Service"}), metrics.Waiting, false, false},
		"a reference that a watch cures":   {&resolve.Problem{Wakes: true}, metrics.Waiting, false, false},
		"a reference that the user cures":  {&resolve.Problem{Terminal: true}, metrics.Terminal, false, false},
		"a reference that nobody tells of": {&resolve.Problem{}, metrics.Waiting, true, false},
		"a name that is taken":             {fmt.Errorf("apply: %w", &apply.ConflictError{}), metrics.Waiting, true, false},
		"a quota":                          {apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("exceeded quota")), metrics.Waiting, true, false},
		"an invalid object":                {apierrors.NewBadRequest("x"), metrics.Waiting, true, false},
		"a part that follows":              {errComeBack, "", true, false},
		"a slow server":                    {fmt.Errorf("apply: %w", timeout), metrics.Transient, false, true},
		"a conflicting write":              {apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("x")), metrics.Transient, false, true},
		"anything else":                    {errors.New("x"), metrics.Transient, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			class, result, err := verdict(tc.err)
			if class != tc.wantClass {
				t.Errorf("class = %q, want %q", class, tc.wantClass)
			}
			if (err != nil) != tc.wantRetry || (result.RequeueAfter > 0) != tc.wantWait {
				t.Errorf("error = %v, comes back after %s", err, result.RequeueAfter)
			}
			if err != nil && !errors.Is(err, tc.err) {
				t.Errorf("error = %v, want %v", err, tc.err)
			}
		})
	}
}

func TestTheFindingOfAPodReachesTheConditions(t *testing.T) {
	m := model()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama-1",
			Labels: map[string]string{aiv1.LabelAIModel: "llama"}, Annotations: map[string]string{aiv1.AnnotationOwner: "llama"}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "server",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: "no Secret"}}}}},
	}
	foreign := pod.DeepCopy()
	foreign.Name, foreign.Annotations = "other-1", map[string]string{aiv1.AnnotationOwner: "other"}
	foreign.Status.ContainerStatuses[0].State.Waiting.Reason = "ErrImagePull"
	c := newCluster(t, pod, foreign)
	p := newPipeline(t, c)
	for range 2 {
		if _, err := pass(t, p, m); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []string{"Ready", "Available", "Progressing"} {
		if got := condition(m, kind); got != "False ContainerConfigError" {
			t.Errorf("%s = %s", kind, got)
		}
	}
}

func TestAForeignDeploymentIsNotReportedOn(t *testing.T) {
	foreign := counts(3, 3, 3, 3, 3)
	foreign.Namespace, foreign.Name = "team-a", "llama"
	c := newCluster(t, foreign, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama"}})
	m := model()
	scope, err := pass(t, newPipeline(t, c), m)
	if err != nil {
		t.Fatal(err)
	}
	if m.Status.Replicas != 0 || scope.Deployment != nil || scope.URL != "" {
		t.Errorf("replicas = %d, URL = %q; want nothing of what somebody else has", m.Status.Replicas, scope.URL)
	}
	if got := condition(m, "Ready"); got != "False Conflict" {
		t.Errorf("Ready = %s", got)
	}
}

func TestAnAutoscalerWaitsForItsSelector(t *testing.T) {
	c := newCluster(t)
	p := newPipeline(t, c)
	m := model()
	scaled := func(ctx context.Context, scope *Scope) error {
		err := fromSpec(ctx, scope)
		scope.Inputs.Autoscaling = &aiv1.Autoscaling{MaxReplicas: 3}
		return err
	}
	for _, step := range []struct {
		name        string
		wantApplied string
		wantWait    bool
		wantScaler  bool
	}{
		{"the first pass", "Unknown Applying", true, false},
		{"the next", "True ObjectsApplied", false, true},
	} {
		scope := scopeOf(m)
		result, err := p.Run(t.Context(), scope, scaled)
		WriteStatus(scope)
		if err != nil || (result.RequeueAfter > 0) != step.wantWait {
			t.Errorf("%s: error = %v, comes back after %s", step.name, err, result.RequeueAfter)
		}
		if got := condition(m, "Applied"); got != step.wantApplied {
			t.Errorf("%s: Applied = %s, want %s", step.name, got, step.wantApplied)
		}
		err = c.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "llama"}, &autoscalingv2.HorizontalPodAutoscaler{})
		if (err == nil) != step.wantScaler {
			t.Errorf("%s: the autoscaler is there: %v, want %v", step.name, err == nil, step.wantScaler)
		}
	}
}
