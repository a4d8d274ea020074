package cluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/cluster"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/gpunode"
)

const patience = 30 * time.Second

// binary is the built localkube; without it there is nothing to test.
func binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../../bin/localkube")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skip("SKIPPED: bin/localkube is not built; run `make localkube`")
	}
	return path
}

func start(t *testing.T, options cluster.Options, nodes ...string) *cluster.Cluster {
	t.Helper()
	options.Binary, options.Progress = binary(t), t.Logf
	options.Dir = filepath.Join(t.TempDir(), "cluster")
	for _, node := range nodes {
		spec, err := gpunode.Parse(node)
		if err != nil {
			t.Fatal(err)
		}
		options.Nodes = append(options.Nodes, spec)
	}
	c, err := cluster.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pids := processes(c.State)
		c.Stop()
		expectGone(t, pids)
		if _, err := os.Stat(options.Dir); !os.IsNotExist(err) {
			t.Errorf("the folder is still there: %v", err)
		}
	})
	return c
}

// eventually waits until check succeeds.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Errorf("%s: %v", what, err)
}

func pod(name, behavior string, limits corev1.ResourceList) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "example.com/model:1", Resources: corev1.ResourceRequirements{Limits: limits},
		}}},
	}
	if behavior != "" {
		p.Annotations = map[string]string{"localkube.dev/behavior": behavior}
	}
	return p
}

func create(t *testing.T, client kubernetes.Interface, p *corev1.Pod) {
	t.Helper()
	if _, err := client.CoreV1().Pods(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestSimulatedPods(t *testing.T) {
	c := start(t, cluster.Options{AuditLog: true, RealNode: cluster.Off}, "name=gpu,count=2")
	t.Run("seventeen pods on sixteen GPUs", func(t *testing.T) { scheduling(t, c.Client) })
	t.Run("failures", func(t *testing.T) { failures(t, c.Client) })
	t.Run("the audit log has every request once", func(t *testing.T) { audit(t, c.State.AuditLog) })
}

func scheduling(t *testing.T, client kubernetes.Interface) {
	gpu := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	for i := range 17 {
		create(t, client, pod(fmt.Sprintf("gpu-%d", i), "", gpu))
	}
	eventually(t, "16 pods are Running and one is Pending", func() error {
		pods, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		running, message := 0, ""
		for _, p := range pods.Items {
			for _, condition := range p.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
					running++
				}
				if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
					message = condition.Message
				}
			}
		}
		if running != 16 || !strings.Contains(message, "2 Insufficient nvidia.com/gpu") {
			return fmt.Errorf("%d are Ready, and the scheduler says %q", running, message)
		}
		return nil
	})
}

func failures(t *testing.T, client kubernetes.Interface) {
	type state struct{ waiting, last string }
	wants := map[string]state{
		"image-pull-backoff": {waiting: "ImagePullBackOff"},
		"config-error":       {waiting: "CreateContainerConfigError"},
		"container-creating": {waiting: "ContainerCreating"},
		"crash-loop":         {waiting: "CrashLoopBackOff", last: "Error 1"},
		"oom-killed":         {waiting: "CrashLoopBackOff", last: "OOMKilled 137"},
		"never-ready":        {},
	}
	for behavior := range wants {
		create(t, client, pod(behavior, behavior, nil))
	}
	slow := pod("slow-start", "slow-start", nil)
	slow.Annotations["localkube.dev/delay"] = "2s"
	create(t, client, slow)
	for behavior, want := range wants {
		eventually(t, behavior, func() error {
			p, err := client.CoreV1().Pods("default").Get(t.Context(), behavior, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if len(p.Status.ContainerStatuses) != 1 {
				return fmt.Errorf("no container status yet")
			}
			var got state
			status := p.Status.ContainerStatuses[0]
			if status.State.Waiting != nil {
				got.waiting = status.State.Waiting.Reason
			}
			if last := status.LastTerminationState.Terminated; last != nil {
				got.last = fmt.Sprintf("%s %d", last.Reason, last.ExitCode)
			}
			if got != want || status.Ready || (want.last != "" && status.RestartCount == 0) {
				return fmt.Errorf("got %+v with %d restarts, ready %t; want %+v", got, status.RestartCount, status.Ready, want)
			}
			return nil
		})
	}
	eventually(t, "a slow start ends well", func() error { return ready(t.Context(), client, "slow-start") })
}

func ready(ctx context.Context, client kubernetes.Interface, name string) error {
	p, err := client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("pod %s is not Ready: %+v", name, p.Status)
}

func audit(t *testing.T, path string) {
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	seen := map[string]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct{ AuditID, Stage, Verb string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if event.Stage != "ResponseComplete" || seen[event.AuditID] || event.Verb == "" {
			t.Fatalf("got event %+v, want one complete response for each request", event)
		}
		seen[event.AuditID] = true
	}
	if len(seen) < 100 {
		t.Errorf("got %d events, want many more", len(seen))
	}
}

// TestKilledSupervisor ends the supervisor in the way that leaves it no say.
func TestKilledSupervisor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	path := binary(t)
	if output, err := exec.Command(path, "up", "--detach", "--dir", dir, "--real-node=auto").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	state, err := cluster.ReadState(dir)
	if err != nil {
		t.Fatal(err)
	}
	pids := processes(state)
	if err := syscall.Kill(state.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	expectGone(t, pids)
	if output, err := exec.Command(path, "down", "--dir", dir).CombinedOutput(); err != nil {
		t.Errorf("clean up: %v: %s", err, output)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestStartExplainsFailure(t *testing.T) {
	options := cluster.Options{Binary: binary(t), Dir: filepath.Join(t.TempDir(), "cluster"), SchedulerArgs: []string{"--no-such-flag"}}
	_, err := cluster.Start(t.Context(), options)
	if err == nil || !strings.Contains(err.Error(), "kube-scheduler") || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("got error %v, want one with the scheduler's words", err)
	}
}

func TestStartRefusesForeignFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.Start(t.Context(), cluster.Options{Binary: binary(t), Dir: dir}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("got error %v, want a refusal", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "precious")); err != nil {
		t.Error(err)
	}
}

func processes(state cluster.State) map[string]int {
	pids := map[string]int{}
	for name, component := range state.Components {
		pids[name] = component.PID
	}
	return pids
}

func expectGone(t *testing.T, pids map[string]int) {
	t.Helper()
	if len(pids) < 5 {
		t.Errorf("only %d processes are known: %v", len(pids), pids)
	}
	for name, pid := range pids {
		eventually(t, name+" is gone", func() error {
			if syscall.Kill(pid, 0) == nil {
				return fmt.Errorf("pid %d is alive", pid)
			}
			return nil
		})
	}
}
