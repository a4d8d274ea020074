package serving

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/facts"
)

func TestFailure(t *testing.T) {
	now := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	earlier := metav1.NewTime(now.Add(-time.Hour))
	crash := diagnose.Finding{Reason: aiv1.ReasonCrashLoop, Message: "it ended", Object: diagnose.Object{Kind: "Deployment", Name: "llama"},
		Container: "server", ExitCode: ptr.To[int32](3)}
	others := []diagnose.Finding{crash, {Reason: aiv1.ReasonUnschedulable}, {Reason: aiv1.ReasonScalingInactive}}
	told := &aiv1.Failure{Reason: aiv1.ReasonCrashLoop, Message: "it ended", Container: "server", ExitCode: ptr.To[int32](3),
		Object: &aiv1.FailureObject{Kind: "Deployment", Name: "llama"}}
	since := func(failure *aiv1.Failure, at metav1.Time, others ...string) *aiv1.Failure {
		failure = failure.DeepCopy()
		failure.Since, failure.Others = at, others
		return failure
	}
	for name, tc := range map[string]struct {
		ready    conditions.Outcome
		findings []diagnose.Finding
		was      *aiv1.Failure
		want     *aiv1.Failure
	}{
		"ready":                  {ready: conditions.True(aiv1.ReasonReady, ""), was: told},
		"on its way":             {ready: conditions.False(aiv1.ReasonRollingOut, "0 of 1"), was: told},
		"paused":                 {ready: conditions.Unknown(aiv1.ReasonPaused, ""), was: told},
		"not known":              {ready: conditions.Unknown(aiv1.ReasonReadFailed, ""), was: told, want: told},
		"never known":            {ready: conditions.Unknown(aiv1.ReasonReadFailed, "")},
		"crashes":                {conditions.False(aiv1.ReasonCrashLoop, "it ended"), []diagnose.Finding{crash}, nil, since(told, metav1.NewTime(now))},
		"still crashes":          {conditions.False(aiv1.ReasonCrashLoop, "it ended"), []diagnose.Finding{crash}, since(told, earlier), since(told, earlier)},
		"crashes, and more":      {conditions.False(aiv1.ReasonCrashLoop, "it ended"), others, nil, since(told, metav1.NewTime(now), aiv1.ReasonUnschedulable, aiv1.ReasonScalingInactive)},
		"crashes, after another": {conditions.False(aiv1.ReasonCrashLoop, "it ended"), []diagnose.Finding{crash}, &aiv1.Failure{Reason: aiv1.ReasonOOMKilled, Since: earlier}, since(told, metav1.NewTime(now))},
		"lacks a Secret, and crashes": {conditions.False(aiv1.ReasonSecretNotFound, "no Secret"), []diagnose.Finding{crash}, nil,
			&aiv1.Failure{Reason: aiv1.ReasonSecretNotFound, Message: "no Secret", Since: metav1.NewTime(now), Others: []string{aiv1.ReasonCrashLoop}}},
	} {
		t.Run(name, func(t *testing.T) {
			scope := &Scope{diagnosis: diagnose.Result{Findings: tc.findings}}
			scope.Conditions.Resolved, scope.Conditions.Applied, scope.Conditions.Replicas = conditions.True("a", ""), conditions.True("a", ""), tc.ready
			if diff := cmp.Diff(tc.want, failure(scope, tc.was, now.Add(time.Millisecond))); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

// started is a pod of the revision that took 1, 2, 3 and 4 seconds to be scheduled, prepared, pulled and started.
func started(name, revision string, change ...func(*corev1.Pod)) corev1.Pod {
	created := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	after := func(seconds int) metav1.Time {
		return metav1.NewTime(created.Add(time.Duration(seconds) * time.Second))
	}
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: after(0), Labels: map[string]string{diagnose.TemplateHash: revision}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server"}, {Name: "sidecar"}}},
		Status: corev1.PodStatus{
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: after(1)},
				{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionTrue, LastTransitionTime: after(3)},
				{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: after(4)},
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: after(10)},
			},
			ContainerStatuses: []corev1.ContainerStatus{
				{Name: "sidecar", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: after(9)}}},
				{Name: "server", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: after(6)}}},
			},
		},
	}
	for _, f := range change {
		f(&pod)
	}
	return pod
}

func TestPhases(t *testing.T) {
	s := ptr.To[int64]
	whole := &aiv1.Phases{SchedulingSeconds: s(1), PreparingSeconds: s(2), ImagePullSeconds: s(3), StartSeconds: s(4), ReadySeconds: 10}
	later := func(pod *corev1.Pod) {
		pod.Status.Conditions[3].LastTransitionTime.Time = pod.Status.Conditions[3].LastTransitionTime.Add(time.Hour)
	}
	unready := func(pod *corev1.Pod) { pod.Status.Conditions[3].Status = corev1.ConditionFalse }
	for name, tc := range map[string]struct {
		revision string
		pods     []corev1.Pod
		want     *aiv1.Phases
	}{
		"no pod":                       {"a", nil, nil},
		"one":                          {"a", []corev1.Pod{started("1", "a")}, whole},
		"the first of three":           {"a", []corev1.Pod{started("1", "a", later), started("2", "a"), started("3", "a", later)}, whole},
		"one that is not ready yet":    {"a", []corev1.Pod{started("1", "a", unready)}, nil},
		"one of another revision":      {"b", []corev1.Pod{started("1", "a")}, nil},
		"one of no revision":           {"", []corev1.Pod{started("1", "a")}, whole},
		"one with init containers":     {"a", []corev1.Pod{started("1", "a", func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "fetch"}} })}, &aiv1.Phases{SchedulingSeconds: s(1), PreparingSeconds: s(3), ImagePullSeconds: s(2), StartSeconds: s(4), ReadySeconds: 10}},
		"one that was started twice":   {"a", []corev1.Pod{started("1", "a", func(p *corev1.Pod) { p.Status.ContainerStatuses[1].RestartCount = 1 })}, &aiv1.Phases{SchedulingSeconds: s(1), PreparingSeconds: s(2), StartSeconds: s(4), ReadySeconds: 10}},
		"one that tells little":        {"a", []corev1.Pod{started("1", "a", func(p *corev1.Pod) { p.Status.ContainerStatuses, p.Status.Conditions = nil, p.Status.Conditions[3:] })}, &aiv1.Phases{ReadySeconds: 10}},
		"one whose node's clock lags":  {"a", []corev1.Pod{started("1", "a", func(p *corev1.Pod) { p.Status.ContainerStatuses[1].State.Running.StartedAt = p.CreationTimestamp })}, &aiv1.Phases{SchedulingSeconds: s(1), PreparingSeconds: s(2), ImagePullSeconds: s(0), StartSeconds: s(10), ReadySeconds: 10}},
		"one of which no spec is kept": {"a", []corev1.Pod{started("1", "a", func(p *corev1.Pod) { p.Spec.Containers = nil })}, &aiv1.Phases{SchedulingSeconds: s(1), PreparingSeconds: s(2), ReadySeconds: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, phasesOf(diagnose.Facts{Pods: tc.pods, Revision: tc.revision})); diff != "" {
				t.Errorf("phases (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPhasesAreWrittenOnceARevision(t *testing.T) {
	pod := started("llama-1", "a")
	pod.Namespace, pod.Labels[aiv1.LabelAIModel] = "team-a", "llama"
	pod.Annotations = map[string]string{aiv1.AnnotationOwner: "llama"}
	written := &aiv1.Phases{Revision: 1}
	for name, tc := range map[string]struct {
		revision  string
		written   *aiv1.Phases
		state     rolloutState
		pods      []client.Object
		want      bool
		wantAgain bool
	}{
		"the first pod is ready":              {"1", nil, rolloutState{current: true, ready: 1}, []client.Object{&pod}, true, false},
		"that of the next revision is":        {"2", written, rolloutState{current: true, ready: 1}, []client.Object{&pod}, true, false},
		"they are written":                    {"1", written, rolloutState{current: true, ready: 1}, []client.Object{&pod}, false, false},
		"nothing is ready":                    {"1", nil, rolloutState{current: true}, []client.Object{&pod}, false, false},
		"status speaks of an earlier spec":    {"1", nil, rolloutState{ready: 1}, []client.Object{&pod}, false, false},
		"there is no revision":                {"", nil, rolloutState{current: true, ready: 1}, []client.Object{&pod}, false, false},
		"the pod is not cached yet":           {"1", nil, rolloutState{current: true, ready: 1, settled: true}, nil, false, true},
		"another pod is ready, of older ones": {"1", nil, rolloutState{current: true, ready: 1}, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := model()
			m.Status.Phases = tc.written
			scope := scopeOf(m)
			scope.Deployment = counts(1, 1, 1, 1, 1)
			scope.Deployment.Namespace, scope.Deployment.Annotations = "team-a", map[string]string{facts.RevisionAnnotation: tc.revision}
			if err := newPipeline(t, newCluster(t, tc.pods...)).observePhases(t.Context(), scope, tc.state); err != nil {
				t.Fatal(err)
			}
			if (scope.phases != nil) != tc.want || (scope.again > 0) != tc.wantAgain {
				t.Errorf("phases = %+v, again after %s", scope.phases, scope.again)
			}
		})
	}
}

func TestScaling(t *testing.T) {
	conditionOf := func(kind autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus, since time.Duration) autoscalingv2.HorizontalPodAutoscalerCondition {
		return autoscalingv2.HorizontalPodAutoscalerCondition{Type: kind, Status: status, Reason: "FailedGetScale", Message: "no metrics",
			LastTransitionTime: metav1.NewTime(time.Now().Add(-since))}
	}
	for name, tc := range map[string]struct {
		conditions []autoscalingv2.HorizontalPodAutoscalerCondition
		foreign    bool
		want       string
		wantAgain  bool
	}{
		"it has not reported":       {want: "Unknown ScalingNotObserved: the autoscaler has not reported yet"},
		"it scales":                 {conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{conditionOf(autoscalingv2.AbleToScale, "True", 0), conditionOf(autoscalingv2.ScalingActive, "True", 0)}, want: "True ScalingActive: "},
		"it lacks metrics":          {conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{conditionOf(autoscalingv2.ScalingActive, "False", time.Minute)}, want: "Unknown ScalingNotObserved: the autoscaler has not reported yet", wantAgain: true},
		"it lacks metrics for long": {conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{conditionOf(autoscalingv2.ScalingActive, "False", time.Hour)}, want: "False ScalingInactive: the autoscaler does not scale (FailedGetScale): no metrics"},
		"it is somebody else's":     {foreign: true, want: " : "},
	} {
		t.Run(name, func(t *testing.T) {
			scope := scopeOf(model())
			scaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama"},
				Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: tc.conditions}}
			if !tc.foreign {
				scaler.OwnerReferences = []metav1.OwnerReference{scope.ownerReference()}
			}
			if err := newPipeline(t, newCluster(t, scaler)).observeAutoscaler(t.Context(), scope); err != nil {
				t.Fatal(err)
			}
			if got := text(scope.Conditions.Scaling); got != tc.want || (scope.again > 0) != tc.wantAgain {
				t.Errorf("scaling = %s, again after %s", got, scope.again)
			}
		})
	}
}

func TestAnAutoscalerThatIsNotCachedYetHasItsCondition(t *testing.T) {
	scope := scopeOf(model())
	scope.objects = []apply.Object{{GVK: autoscalingv2.SchemeGroupVersion.WithKind(autoscalerKind)}}
	if err := newPipeline(t, newCluster(t)).observeAutoscaler(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
	if got := text(scope.Conditions.Scaling); got != "Unknown ScalingNotObserved: the autoscaler has not reported yet" {
		t.Errorf("scaling = %s", got)
	}
}

func TestAHealthyStartReadsNothingPastTheCache(t *testing.T) {
	m := model()
	pod := started("llama-1", "a", func(pod *corev1.Pod) {
		pod.Namespace, pod.Labels[aiv1.LabelAIModel] = "team-a", "llama"
		pod.Annotations = map[string]string{aiv1.AnnotationOwner: "llama"}
		pod.CreationTimestamp = metav1.Now()
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
	})
	c := newCluster(t, &pod)
	p := newPipeline(t, c)
	live := 0
	count := func(client.WithWatch) error { live++; return apierrors.NewTimeoutError("slow", 1) }
	p.facts.Live = interceptor.NewClient(c, interceptor.Funcs{
		Get: func(_ context.Context, w client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
			return count(w)
		},
		List: func(_ context.Context, w client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
			return count(w)
		},
	})
	for range 2 {
		scope, err := pass(t, p, m)
		if err != nil {
			t.Fatal(err)
		}
		if scope.again > diagnose.Patience {
			t.Errorf("looks again after %s", scope.again)
		}
	}
	if live != 0 {
		t.Errorf("%d reads past the cache", live)
	}
	// Much later it is not healthy any more.
	p.facts.Now = func() time.Time { return time.Now().Add(time.Hour) }
	if _, err := pass(t, p, m); err != nil {
		t.Fatal(err)
	}
	if live == 0 {
		t.Error("nothing is read about a pod that does not start for an hour")
	}
}

func TestWhatMakesRoomIsNotTold(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama-2",
		Labels: map[string]string{aiv1.LabelAIModel: "llama"}, Annotations: map[string]string{aiv1.AnnotationOwner: "llama"}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no GPU"}}}}
	for name, tc := range map[string]struct {
		makesRoom bool
		want      string
	}{
		"an old pod makes room":    {true, ""},
		"the old pods are to stay": {false, aiv1.ReasonRolloutBlocked},
	} {
		t.Run(name, func(t *testing.T) {
			scope := scopeOf(model())
			if err := fromSpec(t.Context(), scope); err != nil {
				t.Fatal(err)
			}
			scope.Inputs.ReplaceInPlace = tc.makesRoom
			scope.Deployment = counts(1, 2, 1, 1, 1)
			scope.Deployment.Namespace = "team-a"
			if err := newPipeline(t, newCluster(t, pod)).diagnose(t.Context(), scope, rolloutState{current: true}); err != nil {
				t.Fatal(err)
			}
			got := ""
			if primary := scope.diagnosis.Primary(); primary != nil {
				got = primary.Reason
				if !strings.Contains(primary.Message, "no GPU") {
					t.Errorf("message = %q", primary.Message)
				}
			}
			if got != tc.want {
				t.Errorf("reason = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAnEarlierSpecIsNotDiagnosed(t *testing.T) {
	scope := scopeOf(model())
	scope.Deployment = &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}}}}
	for _, state := range []rolloutState{{current: false}, {current: true, settled: true}} {
		if err := newPipeline(t, newCluster(t)).diagnose(t.Context(), scope, state); err != nil {
			t.Fatal(err)
		}
		if len(scope.diagnosis.Findings) != 0 {
			t.Errorf("%+v: findings = %v", state, scope.diagnosis.Findings)
		}
	}
}
