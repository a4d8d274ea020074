package diagnose

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestNeeds(t *testing.T) {
	cases := factsCases(t)
	at := func(clock string) time.Time {
		moment, err := time.Parse(time.RFC3339, "2026-01-01T"+clock+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return moment
	}
	events := []types.UID{"one"}
	for name, tc := range map[string]struct {
		of   string
		now  time.Time
		want Needs
	}{
		"no node takes it":                  {"no node has as much", at("10:00:00"), Needs{Nodes: true}},
		"its claim is missing":              {"a claim is missing", at("10:00:00"), Needs{Nodes: true, Claims: []string{"weights"}}},
		"its container is being created":    {"a volume cannot be mounted", at("10:00:05"), Needs{Again: Patience}},
		"it is not created for a moment":    {"a volume cannot be mounted", at("10:00:20"), Needs{EventsOf: events, Again: Patience}},
		"it is not created for a minute":    {"a volume cannot be mounted", at("10:01:00"), Needs{EventsOf: events, Again: time.Minute}},
		"it is not created for minutes":     {"a volume cannot be mounted", at("10:04:00"), Needs{EventsOf: events, Nodes: true, Again: 4 * time.Minute}},
		"it is not created for an hour":     {"a volume cannot be mounted", at("11:00:00"), Needs{EventsOf: events, Nodes: true, Again: 5 * time.Minute}},
		"it loads":                          {"the server loads", at("10:05:00"), Needs{Again: 10*time.Minute + time.Second}},
		"it loads for half of its time":     {"the server loads", at("10:15:00"), Needs{EventsOf: events, Nodes: true, Again: 5 * time.Minute}},
		"it has just ended, and has probes": {"the server is killed by its liveness probe", at("10:05:15"), Needs{EventsOf: events, Again: Patience}},
		"it ended, and has probes":          {"the server is killed by its liveness probe", at("10:06:00"), Needs{EventsOf: events}},
		"it has not answered for a moment":  {"the server runs and does not answer", at("10:00:05"), Needs{Again: Patience}},
		"it has not answered for long":      {"the server runs and does not answer", at("10:00:30"), Needs{EventsOf: events, Again: 30 * time.Second}},
		"it has just ended, on a claim":     {"a server finds no weights, and the Job that was to bring them failed", at("10:00:05"), Needs{Again: Patience}},
		"it has ended, on a claim":          {"a server finds no weights, and the Job that was to bring them failed", at("10:00:20"), Needs{Jobs: true, Again: Patience}},
		"it ends for an hour, on a claim":   {"a server finds no weights, and the Job that was to bring them failed", at("11:00:00"), Needs{Jobs: true, Again: 5 * time.Minute}},
		"it lacks memory, on a claim":       {"a server that lacks memory, on a claim that was not filled", at("11:00:00"), Needs{}},
		"it loads, on a claim":              {"a server waits for its weights for half of its time, and the Job that brings them runs", at("10:05:00"), Needs{Again: 10*time.Minute + time.Second}},
		"it waits for long, on a claim":     {"a server waits for its weights for half of its time, and the Job that brings them runs", at("10:15:00"), Needs{EventsOf: []types.UID{"two"}, Nodes: true, Jobs: true, Again: 5 * time.Minute}},
		"its node does not report":          {"the node is gone", at("10:00:00"), Needs{Nodes: true}},
		"it was refused":                    {"the kubelet refuses", at("10:00:00"), Needs{}},
		"it is of the old revision":         {"the pods of the old revision crash, and those of the new are on their way", at("10:00:00"), Needs{}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := cases[tc.of].facts()
			if facts.Pods == nil {
				t.Fatalf("no case %q", tc.of)
			}
			facts.Now = tc.now
			if diff := cmp.Diff(tc.want, NeedsOf(facts)); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestManyPodsNeedNoMoreThanAFew(t *testing.T) {
	var pods []corev1.Pod
	cases := factsCases(t)
	for i := range 50 {
		pod := cases["the server is killed by its liveness probe"].Pods[0]
		pod.Name, pod.UID = fmt.Sprintf("llama-%02d", 49-i), types.UID(fmt.Sprintf("uid-%02d", 49-i))
		pods = append(pods, pod)
	}
	want := Needs{EventsOf: []types.UID{"uid-00", "uid-01", "uid-02"}}
	if diff := cmp.Diff(want, NeedsOf(Facts{Pods: pods, Now: time.Now()})); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
}

func TestAHealthyPodNeedsNothing(t *testing.T) {
	for _, name := range []string{"ready, after a crash of long ago", "leaving, after a crash", "held back by a scheduling gate"} {
		pod, ok := podCases(t)[name]
		if !ok {
			t.Fatalf("no case %q", name)
		}
		if diff := cmp.Diff(Needs{}, NeedsOf(Facts{Pods: []corev1.Pod{pod.Pod}, Now: time.Now()})); diff != "" {
			t.Errorf("%s needs (-want +got):\n%s", name, diff)
		}
	}
}

func TestNodesChanged(t *testing.T) {
	cases := factsCases(t)
	for name, want := range map[string]bool{
		"no node has as much":                               false,
		"no node has as much, and nobody may read nodes":    false,
		"the node is not ready":                             false,
		"the node is gone":                                  true,
		"the node is newer than what is known of the nodes": false,
	} {
		if got := NodesChanged(cases[name].facts()); got != want {
			t.Errorf("%s: changed = %v, want %v", name, got, want)
		}
	}
	facts := cases["no node has as much"].facts()
	facts.Nodes = facts.Nodes[:1]
	if !NodesChanged(facts) {
		t.Error("the scheduler counts one node more, and nothing has changed")
	}
	facts.Revision = "other"
	if NodesChanged(facts) {
		t.Error("a pod of another revision is asked")
	}
}
