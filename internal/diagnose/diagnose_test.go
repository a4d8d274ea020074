package diagnose

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

func podCases(t *testing.T) map[string]podCase {
	t.Helper()
	data, err := os.ReadFile("testdata/pods.yaml")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]podCase{}
	if err := yaml.UnmarshalStrict(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
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
		if diff := cmp.Diff(first[tc.Same], finding); diff != "" {
			t.Errorf("%s: differs from another state of %q (-one +other):\n%s", name, tc.Same, diff)
		}
	}
}

func TestTheOrderOfTheReplicasDoesNotMatter(t *testing.T) {
	var pods []corev1.Pod
	for _, tc := range podCases(t) {
		pods = append(pods, tc.Pod)
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Status.String(), b.Status.String()) })
	want := Workload(nil, pods)
	for i := range pods {
		turned := slices.Concat(pods[i:], pods[:i])
		if diff := cmp.Diff(want, Workload(nil, turned)); diff != "" {
			t.Fatalf("turned by %d (-want +got):\n%s", i, diff)
		}
		slices.Reverse(turned)
		if diff := cmp.Diff(want, Workload(nil, turned)); diff != "" {
			t.Fatalf("turned by %d and reversed (-want +got):\n%s", i, diff)
		}
	}
	if want == nil || want.Reason != aiv1.ReasonOOMKilled {
		t.Errorf("finding = %v, want the most telling", want)
	}
}

func TestTheMostTellingPodIsTold(t *testing.T) {
	cases := podCases(t)
	pod := func(name string) corev1.Pod {
		tc, ok := cases[name]
		if !ok {
			t.Fatalf("no case %q", name)
		}
		return tc.Pod
	}
	for name, tc := range map[string]struct {
		pods []string
		want string
	}{
		"no pods":                             {nil, ""},
		"all are fine":                        {[]string{"running, not ready yet", "ready, after a crash of long ago"}, ""},
		"one waits for a node, one crashes":   {[]string{"no node has the accelerators", "crashed, just now"}, aiv1.ReasonCrashLoop},
		"one waits for a node, one pulls":     {[]string{"no node has the accelerators", "an old kubelet tells no cause between two pulls"}, aiv1.ReasonImagePull},
		"one is killed, one crashes":          {[]string{"crashed, just now", "killed for its own limit"}, aiv1.ReasonOOMKilled},
		"one lacks a Secret, one an image":    {[]string{"an old kubelet tells no cause between two pulls", "a Secret is missing"}, aiv1.ReasonContainerConfig},
		"one leaves after a crash, one pulls": {[]string{"leaving, after a crash", "an old kubelet tells no cause between two pulls"}, aiv1.ReasonImagePull},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []corev1.Pod
			for _, name := range tc.pods {
				pods = append(pods, pod(name))
			}
			got := ""
			if finding := Workload(nil, pods); finding != nil {
				got = finding.Reason
			}
			if got != tc.want {
				t.Errorf("reason = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPodsThatAreRefused(t *testing.T) {
	failure := func(message string) []appsv1.DeploymentCondition {
		return []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue},
			{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: message},
		}
	}
	for name, tc := range map[string]struct {
		conditions []appsv1.DeploymentCondition
		want       *Finding
	}{
		"by a quota": {
			failure(`pods "llama-server-6b7c9d8f4-x7k2p" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8`),
			&Finding{aiv1.ReasonQuotaExceeded, "pods are refused: exceeded quota: gpus, requested: requests.nvidia.com/gpu=4, used: requests.nvidia.com/gpu=8, limited: requests.nvidia.com/gpu=8"}},
		"by Pod Security": {
			failure(`pods "llama-server-6b7c9d8f4-" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`),
			&Finding{aiv1.ReasonPodsRefused, `pods are refused: violates PodSecurity "restricted:latest": runAsNonRoot != true`}},
		"by a webhook": {
			failure(`admission webhook "gatekeeper" denied the request: no`),
			&Finding{aiv1.ReasonPodsRefused, `pods are refused: admission webhook "gatekeeper" denied the request: no`}},
		"by validation": {
			failure(`Pod "llama-server-6b7c9d8f4-x7k2p" is invalid: spec.tolerations: Forbidden`),
			&Finding{aiv1.ReasonPodsRefused, `pods are refused: spec.tolerations: Forbidden`}},
		"not any more": {[]appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionFalse, Message: "x"}}, nil},
		"never":        {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			deployment := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: tc.conditions}}
			if diff := cmp.Diff(tc.want, Workload(deployment, nil)); diff != "" {
				t.Errorf("finding (-want +got):\n%s", diff)
			}
		})
	}
	if Workload(nil, nil) != nil {
		t.Error("nothing at all gives a finding")
	}
}

func TestForeignMessagesAreBounded(t *testing.T) {
	const frame = 200
	for name, text := range map[string]string{
		"long":                     strings.Repeat("x", 10_000),
		"long, of several bytes":   strings.Repeat("é", 5_000),
		"long, of four bytes each": "a" + strings.Repeat("🦙", 3_000),
		"many lines":               strings.Repeat("line\n", 5_000),
		"much space":               strings.Repeat("a     \t", 5_000),
	} {
		t.Run(name, func(t *testing.T) {
			waiting := func(reason string) corev1.Pod {
				return corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
					Name: "server", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: text}}}}}}
			}
			ended := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
				Name: "server", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: text}}}}}}
			nowhere := corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: text}}}}
			refused := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: text}}}}
			findings := []*Finding{Workload(refused, nil)}
			for _, pod := range []corev1.Pod{waiting("ErrImagePull"), waiting("CreateContainerError"), ended, nowhere} {
				findings = append(findings, Pod(&pod))
			}
			for _, finding := range findings {
				if len(finding.Message) > maxMessage+frame {
					t.Errorf("%s: %d bytes", finding.Reason, len(finding.Message))
				}
				if !utf8.ValidString(finding.Message) {
					t.Errorf("%s: is not valid UTF-8", finding.Reason)
				}
				if strings.ContainsAny(finding.Message, "\n\t") {
					t.Errorf("%s: has more than one line", finding.Reason)
				}
			}
		})
	}
}

func FuzzStable(f *testing.F) {
	f.Add("read udp 10.1.2.3:48123->10.0.0.10:53: i/o timeout")
	f.Add(strings.Repeat("🦙", 200))
	f.Fuzz(func(t *testing.T, message string) {
		got := stable(message)
		if len(got) > maxMessage+len("...") {
			t.Errorf("%d bytes", len(got))
		}
		if utf8.ValidString(message) && !utf8.ValidString(got) {
			t.Errorf("%q is not valid UTF-8", got)
		}
	})
}
