package follow

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestOnlyTransitionsAreTold(t *testing.T) {
	const model = "{apiVersion: ai.example.com/v1, kind: AIModel, metadata: {name: m, uid: u}, spec: {replicas: 2}, "
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, uid: v}, "
	steps := []struct {
		text string
		gone bool
		want []string
	}{
		{text: model + "status: {replicas: 0, availableReplicas: 0, conditions: [{type: Ready, status: 'False', reason: RollingOut, message: on its way}]}}",
			want: []string{"AIModel/m replicas: -> 0 of 0 available, 2 wanted", "AIModel/m Ready: -> False RollingOut (on its way)"}},
		{text: model + "status: {replicas: 0, availableReplicas: 0, conditions: [{type: Ready, status: 'False', reason: RollingOut, message: other words}]}}"},
		{text: model + "status: {replicas: 2, availableReplicas: 0, conditions: [{type: Ready, status: 'False', reason: RollingOut}]}}",
			want: []string{"AIModel/m replicas: 0 of 0 available, 2 wanted -> 0 of 2 available, 2 wanted"}},
		{text: pod + "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: no room}]}}",
			want: []string{"Pod/p phase: -> Pending", "Pod/p scheduled: -> Unschedulable (no room)"}},
		{text: pod + "spec: {nodeName: one}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}], containerStatuses: [{name: server, restartCount: 1, state: {running: {}}}]}}",
			want: []string{"Pod/p phase: Pending -> Running", "Pod/p node: -> one", "Pod/p ready: -> True",
				"Pod/p restarts of server: -> 1", "Pod/p container server: -> running", "Pod/p scheduled: Unschedulable ->"}},
		{text: pod + "status: {}}", gone: true, want: []string{"Pod/p object: -> gone"}},
		{text: "{apiVersion: a/v1, kind: Widget, metadata: {name: w, uid: w}}", want: []string{"Widget/w object: -> there"}},
		{text: "{apiVersion: a/v1, kind: Widget, metadata: {name: w, uid: w, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [a/b]}, status: {phase: Done}}",
			want: []string{"Widget/w deletion: -> asked for (it waits for a/b)", "Widget/w phase: -> Done"}},
	}
	var got []string
	f := &Follower{Now: time.Now, Emit: func(l Line) {
		text := strings.TrimSpace(l.Kind + "/" + l.Name + " " + l.What + ": " + strings.TrimSpace(l.From+" -> "+l.To))
		if l.Detail != "" {
			text += " (" + l.Detail + ")"
		}
		got = append(got, text)
	}}
	f.reset()
	for i, step := range steps {
		got = nil
		f.tell(object(t, step.text), step.gone)
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestALostConnectionIsToldOnce(t *testing.T) {
	told := 0
	f := &Follower{Now: time.Now, Emit: func(Line) {}, Lost: func(error) { told++ }}
	f.reset()
	f.lose(t.Context(), io.EOF)
	if told != 0 {
		t.Error("the ordinary end of a watch was told")
	}
	f.lose(t.Context(), errors.New("connection refused"))
	f.lose(t.Context(), errors.New("connection refused"))
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	f.tell(object(t, "{apiVersion: a/v1, kind: Widget, metadata: {name: w, uid: w}}"), false)
	f.lose(t.Context(), errors.New("connection refused"))
	if told != 2 {
		t.Errorf("the second loss was told %d times", told-1)
	}
}
