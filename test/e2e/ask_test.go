package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

const (
	// patience is how long one request may take.
	patience = 30 * time.Second
	// pace is the least time between two requests of one client: a machine of two cores has other things to do too.
	pace = 30 * time.Millisecond
)

// answer is what the model server says about a text.
type answer struct {
	Label        string
	Model        string
	ModelVersion string
	ServedBy     string
}

// get sends one request to the API server, and never a second.
func get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, kube.Config.Host+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := web.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it is read to its end
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return body, err
}

// viaService is the path at the API server that leads through a Service, and path, to one of its pods.
func viaService(namespace, name, path string) string {
	return "/api/v1/namespaces/" + namespace + "/services/" + name + ":80/proxy" + path
}

func viaPod(namespace, name string, port int, path string) string {
	return fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:%d/proxy%s", namespace, name, port, path)
}

// proxied turns the address in an owner's status, which is good inside the cluster, into one at the API server.
func proxied(of owner) (string, error) {
	var address string
	switch object := of.(type) {
	case *aiv1.AIModel:
		address = object.Status.InferenceURL
	case *aiv1.InferenceService:
		address = object.Status.URL
	}
	inside, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	service, found := strings.CutSuffix(inside.Hostname(), "."+of.GetNamespace()+".svc.cluster.local")
	if !found || inside.Port() != "80" {
		return "", fmt.Errorf("the address %q is not that of a Service in namespace %s", address, of.GetNamespace())
	}
	return viaService(of.GetNamespace(), service, inside.EscapedPath()), nil
}

// ask sends a text to the address that an owner's status has.
func ask(ctx context.Context, of owner, text string) (answer, error) {
	var said answer
	path, err := proxied(of)
	if err != nil {
		return said, err
	}
	body, err := get(ctx, path+"?text="+url.QueryEscape(text))
	if err != nil {
		return said, err
	}
	return said, json.Unmarshal(body, &said)
}

// expectAnswers asks a good and a bad thing.
func expectAnswers(of owner) answer {
	ginkgo.GinkgoHelper()
	said, err := ask(suiteCtx, of, "I love it, the new model is great")
	Expect(err).NotTo(HaveOccurred())
	Expect(said.Label).To(Equal("positive"))
	said, err = ask(suiteCtx, of, "This is a horrible disaster")
	Expect(err).NotTo(HaveOccurred())
	Expect(said.Label).To(Equal("negative"))
	return said
}

// expectAnswersFrom asks until a number of pods have answered.
func expectAnswersFrom(of owner, count int) {
	ginkgo.GinkgoHelper()
	seen := map[string]bool{}
	Eventually(func(g Gomega) {
		said, err := ask(suiteCtx, of, "good")
		g.Expect(err).NotTo(HaveOccurred())
		seen[said.ServedBy] = true
		g.Expect(seen).To(HaveLen(count))
	}).WithPolling(20 * time.Millisecond).Should(Succeed())
}

// traffic is clients that ask all the time.
type traffic struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu       sync.Mutex
	versions map[string]int
	failures []string
}

// startTraffic starts clients that end with the spec at the latest.
func startTraffic(of owner, clients int) *traffic {
	ginkgo.GinkgoHelper()
	path, err := proxied(of)
	Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(suiteCtx)
	t := &traffic{cancel: cancel, versions: map[string]int{}}
	for range clients {
		t.done.Go(func() {
			next := time.NewTicker(pace)
			defer next.Stop()
			for ctx.Err() == nil {
				t.send(ctx, path+"?text=good")
				<-next.C
			}
		})
	}
	ginkgo.DeferCleanup(t.stop)
	return t
}

// send counts one request, unless it was cut off by the end of the traffic.
func (t *traffic) send(ctx context.Context, path string) {
	var said answer
	began := time.Now()
	body, err := get(ctx, path)
	if err == nil {
		err = json.Unmarshal(body, &said)
	}
	if ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.failures = append(t.failures, fmt.Sprintf("%s: %v", began.Format(time.StampMilli), err))
		return
	}
	t.versions[said.ModelVersion]++
}

// stop ends the clients and waits for their end.
func (t *traffic) stop() {
	t.cancel()
	t.done.Wait()
}

// answered is how many answers each version of the model gave.
func (t *traffic) answered() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.versions)
}

func (t *traffic) failed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.failures)
}
