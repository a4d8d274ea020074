package reach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/clitest"
)

// kubelets answer for logs as an API server does. Each log of a pod is what its container wrote so far, and ends when a newer one
// takes its place, as on a restart, or when the pod is gone.
type kubelets struct {
	mu      sync.Mutex
	logs    map[string][]string
	changed chan struct{}
	// refuse makes every request fail with this code.
	refuse int
	asked  []string
}

// set makes lines the log of a pod. Nil: there is no log, and what reads one gets to its end.
func (k *kubelets) set(pod string, lines ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logs[pod] = lines
	close(k.changed)
	k.changed = make(chan struct{})
}

func (k *kubelets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.Split(r.URL.Path, "/")[6]
	k.mu.Lock()
	lines, changed, refuse := k.logs[name], k.changed, k.refuse
	k.asked = append(k.asked, name+"?"+r.URL.RawQuery)
	k.mu.Unlock()
	if lines == nil || refuse != 0 {
		code, reason := http.StatusBadRequest, "BadRequest"
		if refuse != 0 {
			code, reason = refuse, "Forbidden"
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"container is waiting to start"}`, reason, code)
		return
	}
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
	for _, line := range lines {
		if at, _ := timestamped([]byte(line)); at.IsZero() || !at.Before(since) {
			fmt.Fprintln(w, line)
		}
	}
	w.(http.Flusher).Flush()
	select {
	case <-changed:
	case <-r.Context().Done():
	}
}

// followed is a Follower at work.
type followed struct {
	*kubelets
	client.WithWatch
	cancel    context.CancelFunc
	ended     chan error
	out, told *safeBuffer
}

type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	fail error
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return 0, b.fail
	}
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func servingPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID("u-" + name), Labels: map[string]string{aiv1.LabelAIModel: "m"},
			Annotations: map[string]string{aiv1.AnnotationOwner: "m"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "server"}}},
	}
}

func model() *aiv1.AIModel {
	return &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "m"}}
}

func startFollower(t *testing.T, options LogOptions, setUp func(*followed), objects ...client.Object) *followed {
	t.Helper()
	f := &followed{kubelets: &kubelets{logs: map[string][]string{}, changed: make(chan struct{})}, ended: make(chan error, 1),
		WithWatch: clitest.Client(t, append(objects, model())...), out: &safeBuffer{}, told: &safeBuffer{}}
	setUp(f)
	server := httptest.NewServer(f.kubelets)
	t.Cleanup(server.Close)
	logs, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(t.Context())
	t.Cleanup(f.cancel) // before the server waits for those who read
	follower := &Follower{Client: logs, Reader: f.WithWatch, Out: f.out, Told: func(format string, args ...any) { fmt.Fprintf(f.told, format+"\n", args...) }}
	go func() { f.ended <- follower.Run(ctx, model(), options) }()
	return f
}

// until waits for a text.
func until(t *testing.T, buffer *safeBuffer, want string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if strings.Contains(buffer.String(), want) {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("%q lacks %q", buffer.String(), want)
}

func (f *followed) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-f.ended:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("it goes on")
		return nil
	}
}

func TestFollowing(t *testing.T) {
	f := startFollower(t, LogOptions{Tail: 1}, func(f *followed) {
		f.set("a", "2026-01-01T00:00:00.1Z one", "2026-01-01T00:00:00.2Z two")
	}, servingPod("a"))
	until(t, f.out, "one\ntwo\n") // one pod: the lines are as they are

	// The container is started again. The second that was seen in part is asked for again, and nothing is said twice.
	f.set("a", "2026-01-01T00:00:00.1Z one", "2026-01-01T00:00:00.2Z two", "2026-01-01T00:00:00.3Z three", "a rest without a time")
	until(t, f.out, "one\ntwo\nthree\na rest without a time\n")

	// A rollout: the new pod has no log yet, then it has one, and the old pod goes.
	if err := f.Create(t.Context(), servingPod("b")); err != nil {
		t.Fatal(err)
	}
	until(t, f.told, "pod b is new\n")
	until(t, f.told, "pod b has no log: container is waiting to start")
	f.set("b", "2026-01-01T00:00:01Z hello")
	until(t, f.out, "[b] hello\n")
	if err := f.Delete(t.Context(), servingPod("a")); err != nil {
		t.Fatal(err)
	}
	f.set("a")
	until(t, f.told, "pod a is over\n")
	f.set("b", "2026-01-01T00:00:01Z hello", "2026-01-01T00:00:02Z again")
	until(t, f.out, "[b] again\n")
	if count := strings.Count(f.out.String(), "two\n") + strings.Count(f.out.String(), "hello\n"); count != 2 {
		t.Errorf("something is said twice: %q", f.out)
	}

	// Nothing is left to come when the model is deleted.
	for _, object := range []client.Object{model(), servingPod("b")} {
		if err := f.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	f.set("b")
	if err := f.end(t); err != nil {
		t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked[0] != "a?container=server&follow=true&tailLines=1&timestamps=true" ||
		f.asked[1] != "a?container=server&follow=true&sinceTime=2026-01-01T00%3A00%3A00Z&timestamps=true" {
		t.Errorf("asked %q", f.asked[:2])
	}
}

func TestFollowingBeginsBeforeThereArePods(t *testing.T) {
	f := startFollower(t, LogOptions{Tail: -1}, func(*followed) {})
	until(t, f.told, "there are no pods yet; waiting for the first\n")
	f.set("a", "2026-01-01T00:00:00Z one")
	if err := f.Create(t.Context(), servingPod("a")); err != nil {
		t.Fatal(err)
	}
	until(t, f.out, "one\n")
	f.cancel()
	if err := f.end(t); err != nil {
		t.Errorf("error %v though the user ended it", err)
	}
}

func TestFollowingWithoutPermissionSaysSo(t *testing.T) {
	f := startFollower(t, LogOptions{Tail: -1}, func(f *followed) { f.refuse = http.StatusForbidden }, servingPod("a"))
	until(t, f.told, "pod a has no log: container is waiting to start")
	f.cancel()
	if err := f.end(t); err != nil {
		t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) != 1 {
		t.Errorf("asked %d times", len(f.asked))
	}
}

func TestFollowingEndsWithItsOutput(t *testing.T) {
	broken := errors.New("broken pipe")
	f := startFollower(t, LogOptions{Tail: -1}, func(f *followed) {
		f.out.fail = broken
		f.set("a", "2026-01-01T00:00:00Z one")
	}, servingPod("a"))
	if err := f.end(t); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}
