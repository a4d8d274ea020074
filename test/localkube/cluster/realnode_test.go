package cluster_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/cluster"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/image"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/realnode"
)

func TestRealPods(t *testing.T) {
	if _, err := realnode.Check(filepath.Dir(binary(t))); err != nil {
		t.Skipf("SKIPPED: no real node on this machine: %v", err)
	}
	c := start(t, cluster.Options{RealNode: cluster.On, RealNodeGPUs: 2}, "name=gpu")
	id := realnode.ID(c.Dir())
	t.Cleanup(func() { c.Stop(); expectNothingLeft(t, id) })
	server := filepath.Join(t.TempDir(), "server")
	build := exec.Command("go", "build", "-o", server, "../testdata/server")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	spec := image.Spec{Ref: "server:test", Binary: server, User: "65532", Port: 8080}
	if err := realnode.Import(t.Context(), id, filepath.Dir(binary(t)), spec); err != nil {
		t.Fatal(err)
	}
	p := pod("web", "", corev1.ResourceList{"memory": resource.MustParse("64Mi")})
	p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = spec.Ref, corev1.PullNever
	create(t, c.Client, p)
	createService(t, c.Client)

	eventually(t, "a pod without GPUs lands on the real node", func() error { return ready(t.Context(), c.Client, "web") })
	eventually(t, "it answers through the API server", func() error { return expectAnswer(t.Context(), c.Client, "hello", "hello from user 65532") })
	// Which version it has, everybody may ask.
	eventually(t, "it reaches the API server", func() error { return expectAnswer(t.Context(), c.Client, "version", `"gitVersion": "v1.`) })
	eventually(t, "its log can be read", func() error {
		log, err := podLog(t.Context(), c.Client)
		if err == nil && !strings.Contains(log, "Served /hello") {
			err = errors.New("got log " + log)
		}
		return err
	})
	_ = expectAnswer(t.Context(), c.Client, "eat", "")
	eventually(t, "the kernel kills it for its memory", func() error {
		p, err := c.Client.CoreV1().Pods("default").Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		last := p.Status.ContainerStatuses[0].LastTerminationState.Terminated
		if last == nil || last.Reason != "OOMKilled" || last.ExitCode != 137 {
			return errors.New("got " + p.Status.String())
		}
		return nil
	})
	eventually(t, "it comes back", func() error { return expectAnswer(t.Context(), c.Client, "again", "hello") })

	missing := pod("missing", "", nil)
	missing.Spec.Containers[0].Image, missing.Spec.Containers[0].ImagePullPolicy = "nowhere.invalid/model:1", corev1.PullIfNotPresent
	create(t, c.Client, missing)
	eventually(t, "an image that cannot be had is told of", func() error {
		p, err := c.Client.CoreV1().Pods("default").Get(t.Context(), "missing", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, status := range p.Status.ContainerStatuses {
			if status.State.Waiting != nil && strings.Contains("ErrImagePull ImagePullBackOff", status.State.Waiting.Reason) {
				return nil
			}
		}
		return errors.New("got " + p.Status.String())
	})
	expectGPUs(t, c.Client)
}

func createService(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": "web"},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	if _, err := client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func expectAnswer(ctx context.Context, client kubernetes.Interface, path, want string) error {
	answer, err := client.CoreV1().Services("default").ProxyGet("http", "web", "80", path, nil).DoRaw(ctx)
	if err == nil && !strings.Contains(string(answer), want) {
		err = errors.New("got answer " + string(answer))
	}
	return err
}

func podLog(ctx context.Context, client kubernetes.Interface) (string, error) {
	stream, err := client.CoreV1().Pods("default").GetLogs("web", &corev1.PodLogOptions{}).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = stream.Close() }()
	data, err := io.ReadAll(stream)
	return string(data), err
}

// expectGPUs asks for the GPUs that the real node pretends to have.
func expectGPUs(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	p := pod("gpus", "", corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")})
	p.Spec.Containers[0].Image, p.Spec.Containers[0].ImagePullPolicy = "server:test", corev1.PullNever
	p.Spec.NodeSelector = map[string]string{realnode.Label: realnode.LabelValue}
	create(t, client, p)
	eventually(t, "a pod with GPUs runs on the real node", func() error { return ready(t.Context(), client, "gpus") })
}

// expectNothingLeft looks where containers leave traces.
func expectNothingLeft(t *testing.T, id string) {
	t.Helper()
	for _, pattern := range []string{realnode.Base(id), "/sys/fs/cgroup/*/localkube-" + id, "/sys/fs/cgroup/localkube-" + id, "/sys/class/net/lk-" + id} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			t.Errorf("left behind: %v", found)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), realnode.Base(id)) {
		t.Error("mounts are left behind")
	}
}
