package diagnose

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// podCase is one case of testdata/pods.yaml.
type podCase struct {
	Want *Finding   `json:"want"`
	Pod  corev1.Pod `json:"pod"`
	// Same is a mark of cases that stand for one cause.
	Same string `json:"same"`
}

// factsCase is one case of testdata/facts.yaml.
type factsCase struct {
	Want       *Finding                               `json:"want"`
	More       []Finding                              `json:"more"`
	Now        *metav1.Time                           `json:"now"`
	Deployment *appsv1.Deployment                     `json:"deployment"`
	Revision   string                                 `json:"revision"`
	Pods       []corev1.Pod                           `json:"pods"`
	Events     []Event                                `json:"events"`
	Nodes      []Node                                 `json:"nodes"`
	Claims     map[string]Claim                       `json:"claims"`
	Jobs       []Job                                  `json:"jobs"`
	Autoscaler *autoscalingv2.HorizontalPodAutoscaler `json:"autoscaler"`
}

func (c factsCase) facts() Facts {
	facts := Facts{Deployment: c.Deployment, Revision: c.Revision, Pods: c.Pods, Nodes: c.Nodes, Claims: c.Claims, Jobs: c.Jobs,
		Autoscaler: c.Autoscaler, Events: map[types.UID][]Event{"one": c.Events}}
	if c.Now != nil {
		facts.Now = c.Now.Time
	}
	return facts
}

func read[T any](t *testing.T, file string) map[string]T {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]T{}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func podCases(t *testing.T) map[string]podCase {
	t.Helper()
	return read[podCase](t, "testdata/pods.yaml")
}

func factsCases(t *testing.T) map[string]factsCase {
	t.Helper()
	return read[factsCase](t, "testdata/facts.yaml")
}

func TestPod(t *testing.T) {
	for name, tc := range podCases(t) {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.Want, Pod(&tc.Pod)); diff != "" {
				t.Errorf("finding (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFacts(t *testing.T) {
	for name, tc := range factsCases(t) {
		t.Run(name, func(t *testing.T) {
			result := Diagnose(tc.facts())
			var want []Finding
			if tc.Want != nil {
				want = append([]Finding{*tc.Want}, tc.More...)
			}
			if diff := cmp.Diff(want, result.Findings); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOneCauseGivesOneMessage(t *testing.T) {
	first := map[string]*Finding{}
	for name, tc := range podCases(t) {
		if tc.Same == "" {
			continue
		}
		finding := Pod(&tc.Pod)
		if first[tc.Same] == nil {
			first[tc.Same] = finding
		}
		if !first[tc.Same].Same(finding) {
			t.Errorf("%s: differs from another state of %q (-one +other):\n%s", name, tc.Same, cmp.Diff(first[tc.Same], finding))
		}
	}
}

func TestSame(t *testing.T) {
	a := &Finding{Reason: "a", ExitCode: new(int32)}
	for name, tc := range map[string]struct {
		a, b *Finding
		want bool
	}{
		"both are nil":       {nil, nil, true},
		"one is nil":         {a, nil, false},
		"itself":             {a, a, true},
		"an equal exit code": {a, &Finding{Reason: "a", ExitCode: new(int32)}, true},
		"no exit code":       {a, &Finding{Reason: "a"}, false},
		"another exit code":  {a, &Finding{Reason: "a", ExitCode: new(int32(1))}, false},
		"another reason":     {&Finding{Reason: "a"}, &Finding{Reason: "b"}, false},
	} {
		if got := tc.a.Same(tc.b); got != tc.want {
			t.Errorf("%s: same = %v", name, got)
		}
	}
}

func TestTheOrderOfTheReplicasDoesNotMatter(t *testing.T) {
	var pods []corev1.Pod
	for _, tc := range podCases(t) {
		pods = append(pods, tc.Pod)
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Status.String(), b.Status.String()) })
	want := Diagnose(Facts{Pods: pods})
	for i := range pods {
		turned := slices.Concat(pods[i:], pods[:i])
		if diff := cmp.Diff(want, Diagnose(Facts{Pods: turned})); diff != "" {
			t.Fatalf("turned by %d (-want +got):\n%s", i, diff)
		}
		slices.Reverse(turned)
		if diff := cmp.Diff(want, Diagnose(Facts{Pods: turned})); diff != "" {
			t.Fatalf("turned by %d and reversed (-want +got):\n%s", i, diff)
		}
	}
	if primary := want.Primary(); primary == nil || primary.Reason != aiv1.ReasonOOMKilled {
		t.Errorf("finding = %v, want the most telling", primary)
	}
	seen := map[string]bool{}
	for _, finding := range want.Findings {
		if seen[finding.Reason] {
			t.Errorf("%s is told twice", finding.Reason)
		}
		seen[finding.Reason] = true
	}
}

func TestTheMostTellingPodIsTold(t *testing.T) {
	cases := podCases(t)
	for name, tc := range map[string]struct {
		pods []string
		want []string
	}{
		"no pods":                             {nil, nil},
		"all are fine":                        {[]string{"running, not ready yet", "ready, after a crash of long ago"}, nil},
		"one waits for a node, one crashes":   {[]string{"no node has the accelerators", "crashed, just now"}, []string{aiv1.ReasonCrashLoop, aiv1.ReasonUnschedulable}},
		"one waits for a node, one pulls":     {[]string{"no node has the accelerators", "an old kubelet tells no cause between two pulls"}, []string{aiv1.ReasonImagePull, aiv1.ReasonUnschedulable}},
		"one is killed, one crashes":          {[]string{"crashed, just now", "killed for its own limit"}, []string{aiv1.ReasonOOMKilled, aiv1.ReasonCrashLoop}},
		"one lacks a Secret, one an image":    {[]string{"an old kubelet tells no cause between two pulls", "a Secret is missing"}, []string{aiv1.ReasonContainerConfig, aiv1.ReasonImagePull}},
		"one leaves after a crash, one pulls": {[]string{"leaving, after a crash", "an old kubelet tells no cause between two pulls"}, []string{aiv1.ReasonImagePull}},
		"ten fail alike":                      {slices.Repeat([]string{"crashed, just now"}, 10), []string{aiv1.ReasonCrashLoop}},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []corev1.Pod
			for _, name := range tc.pods {
				found, ok := cases[name]
				if !ok {
					t.Fatalf("no case %q", name)
				}
				pods = append(pods, found.Pod)
			}
			var got []string
			for _, finding := range Diagnose(Facts{Pods: pods}).Findings {
				got = append(got, finding.Reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatKeepsNothingFromBeingUpIsNotPrimary(t *testing.T) {
	result := Diagnose(factsCases(t)["the autoscaler has no metrics"].facts())
	if result.Primary() != nil || result.Find(aiv1.ReasonScalingInactive) == nil || result.Find(aiv1.ReasonCrashLoop) != nil {
		t.Errorf("result = %+v", result)
	}
}

func TestForeignMessagesAreBounded(t *testing.T) {
	const frame = 400
	for name, text := range map[string]string{
		"long":                     strings.Repeat("x", 10_000),
		"long, of several bytes":   strings.Repeat("é", 5_000),
		"long, of four bytes each": "a" + strings.Repeat("🦙", 3_000),
		"many lines":               strings.Repeat("line\n", 5_000),
		"much space":               strings.Repeat("a     \t", 5_000),
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			// Every case, with its foreign words replaced.
			for name, tc := range factsCases(t) {
				facts := tc.facts()
				for i := range facts.Events["one"] {
					prefix, _, _ := strings.Cut(facts.Events["one"][i].Message, ": ")
					facts.Events["one"][i].Message = prefix + ": " + text
				}
				for i := range facts.Pods {
					facts.Pods[i].Status.Message = text
				}
				for i := range facts.Jobs {
					facts.Jobs[i].Message = text
				}
				checkBounds(t, name, Diagnose(facts), maxMessage+frame)
			}
			for _, reason := range []string{"ErrImagePull", "CreateContainerError", "InvalidImageName"} {
				checkBounds(t, reason, Diagnose(Facts{Now: now, Pods: []corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
					Name: "server", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: text}}}}}}}}), maxMessage+frame)
			}
		})
	}
}

func checkBounds(t *testing.T, name string, result Result, most int) {
	t.Helper()
	for _, finding := range result.Findings {
		if len(finding.Message) > most || !utf8.ValidString(finding.Message) {
			t.Errorf("%s: a message of %d bytes, valid: %v", name, len(finding.Message), utf8.ValidString(finding.Message))
		}
		if strings.ContainsAny(finding.Message, "\n\t") || strings.Contains(finding.Message, "  ") {
			t.Errorf("%s: not one line: %.80q", name, finding.Message)
		}
	}
}

func TestHopeless(t *testing.T) {
	cases := factsCases(t)
	for name, want := range map[string]bool{
		"no node has as much":                            true,
		"no node has any":                                true,
		"no node is admitted":                            true,
		"no node has as much, and nobody may read nodes": false,
		"the nodes are full":                             false,
		"the node is not ready":                          false,
		"the pods of the old revision crash, and those of the new are on their way": false,
	} {
		tc, ok := cases[name]
		if !ok {
			t.Fatalf("no case %q", name)
		}
		if got := Hopeless(tc.facts()); got != want {
			t.Errorf("%s: hopeless = %v, want %v", name, got, want)
		}
	}
}
