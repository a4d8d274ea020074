package serving

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
	"github.com/aimodel-operator/aimodel-operator/internal/render"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/values"
)

func testScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), aiv1.AddToScheme(scheme), monitoringv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// cluster is a store that can fail and counts what is written.
type cluster struct {
	client.WithWatch
	writes, statusWrites int
	// refuse makes the write of a kind fail.
	refuse map[string]error
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	c := &cluster{refuse: map[string]error{}}
	builder := fake.NewClientBuilder().WithScheme(testScheme(t)).WithReturnManagedFields().
		WithStatusSubresource(&aiv1.AIModel{}, &aiv1.InferenceService{}).WithObjects(objects...)
	builder.WithIndex(&corev1.Pod{}, index.PodOwner, func(object client.Object) []string {
		kind, name := index.OwnerOfPod(object)
		return []string{index.PodOwnerKey(kind, name)}
	})
	c.WithWatch = interceptor.NewClient(builder.Build(), interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			c.writes++
			if err := c.refuse[o.GetObjectKind().GroupVersionKind().Kind]; err != nil {
				return err
			}
			return w.Create(ctx, o, opts...)
		},
		Apply: func(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			c.writes++
			return w.Apply(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			c.writes++
			return w.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, w client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			c.statusWrites++
			if err := c.refuse["status"]; err != nil {
				return err
			}
			return w.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	return c
}

func newPipeline(t *testing.T, c *cluster) *Pipeline {
	t.Helper()
	renderer, err := render.New()
	if err != nil {
		t.Fatal(err)
	}
	return NewPipeline(renderer, c, c, nil)
}

func model() *aiv1.AIModel {
	return &aiv1.AIModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama", UID: "uid-of-llama", Generation: 1},
		Spec:       aiv1.AIModelSpec{ModelName: "llama", ModelVersion: "1", Image: "server:1"},
	}
}

func scopeOf(m *aiv1.AIModel) *Scope {
	return &Scope{Owner: m, Kind: resolve.KindAIModel, ChildName: m.Name}
}

// fromSpec is the resolve step of a model without references.
func fromSpec(_ context.Context, scope *Scope) error {
	m, ok := scope.Owner.(*aiv1.AIModel)
	if !ok {
		return fmt.Errorf("%T", scope.Owner)
	}
	inputs := resolve.FromAIModel(m, nil)
	scope.Inputs = &inputs
	return nil
}

// pass is what a controller does with a pipeline.
func pass(t *testing.T, p *Pipeline, m *aiv1.AIModel) (*Scope, error) {
	t.Helper()
	scope := scopeOf(m)
	_, err := p.Run(t.Context(), scope, fromSpec)
	WriteStatus(scope)
	return scope, err
}

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

func condition(m *aiv1.AIModel, kind string) string {
	for _, c := range m.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
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
		"a part that follows":              {&comeBackError{after: 1}, "", true, false},
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

func TestPatchStatus(t *testing.T) {
	known := model()
	known.Status.ObservedGeneration = 1
	for name, tc := range map[string]struct {
		change     func(*aiv1.AIModel)
		absent     bool
		fail       error
		wantWrites int
		wantErr    bool
	}{
		"no change":                  {change: func(*aiv1.AIModel) {}},
		"a change":                   {change: func(m *aiv1.AIModel) { m.Status.Replicas = 2 }, wantWrites: 1},
		"the object is gone":         {change: func(m *aiv1.AIModel) { m.Status.Replicas = 2 }, absent: true, wantWrites: 1},
		"the server does not answer": {change: func(m *aiv1.AIModel) { m.Status.Replicas = 2 }, fail: apierrors.NewTimeoutError("slow", 1), wantWrites: 1, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			if !tc.absent {
				c = newCluster(t, known.DeepCopy())
			}
			c.refuse["status"] = tc.fail
			after := known.DeepCopy()
			tc.change(after)
			err := PatchStatus(t.Context(), c, known, after)
			if (err != nil) != tc.wantErr || c.statusWrites != tc.wantWrites {
				t.Errorf("error = %v, %d writes; want %d", err, c.statusWrites, tc.wantWrites)
			}
		})
	}
}

func TestTheFirstStatusHasItsZeros(t *testing.T) {
	after := model()
	after.Status.ObservedGeneration = 1
	data, err := wholeStatus{}.Data(after)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"status":{"availableReplicas":0,"observedGeneration":1,"readyReplicas":0,"replicas":0}}`; string(data) != want {
		t.Errorf("patch = %s\nwant    %s", data, want)
	}
	c := newCluster(t, model())
	if err := PatchStatus(t.Context(), c, model(), after); err != nil || c.statusWrites != 1 {
		t.Errorf("error = %v, %d writes", err, c.statusWrites)
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

func TestRoomIsMadeOnAFullPoolOnly(t *testing.T) {
	stuck := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama-2",
			Labels: map[string]string{aiv1.LabelAIModel: "llama"}, Annotations: map[string]string{aiv1.AnnotationOwner: "llama"}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no GPU"}}},
	}
	for name, tc := range map[string]struct {
		accelerator *aiv1.Accelerator
		deployment  *appsv1.Deployment
		pods        []client.Object
		want        bool
	}{
		"the new pod finds no accelerator":   {&aiv1.Accelerator{Count: 1}, counts(1, 2, 1, 1, 1), []client.Object{stuck}, true},
		"it has found one":                   {&aiv1.Accelerator{Count: 1}, counts(1, 2, 1, 1, 1), nil, false},
		"there is no surplus":                {&aiv1.Accelerator{Count: 1}, counts(1, 1, 1, 0, 0), []client.Object{stuck}, false},
		"the old pods are gone":              {&aiv1.Accelerator{Count: 1}, counts(1, 2, 2, 1, 1), []client.Object{stuck}, false},
		"no accelerator is asked for":        {nil, counts(1, 2, 1, 1, 1), []client.Object{stuck}, false},
		"nothing runs yet, and no node fits": {&aiv1.Accelerator{Count: 1}, nil, []client.Object{stuck}, false},
	} {
		t.Run(name, func(t *testing.T) {
			scope := scopeOf(model())
			scope.Inputs = &resolve.Inputs{Accelerator: tc.accelerator}
			objects := tc.pods
			if tc.deployment != nil {
				tc.deployment.Namespace, tc.deployment.Name = "team-a", "llama"
				tc.deployment.OwnerReferences = []metav1.OwnerReference{scope.ownerReference()}
				objects = append([]client.Object{tc.deployment}, objects...)
			}
			if err := newPipeline(t, newCluster(t, objects...)).makeRoom(t.Context(), scope); err != nil {
				t.Fatal(err)
			}
			if got := scope.Inputs.ReplaceInPlace; got != tc.want {
				t.Errorf("replaces in place: %v, want %v", got, tc.want)
			}
		})
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
