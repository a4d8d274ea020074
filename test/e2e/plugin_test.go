package e2e

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli"
)

// output gathers what a command writes while it runs.
type output struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.out.String()
}

// startPlugin starts a command of the kubectl plugin. End it by its context; its exit code comes through the channel.
func startPlugin(ctx context.Context, args ...string) (*output, chan int) {
	said, ended := &output{}, make(chan int, 1)
	go func() {
		ended <- cli.Run(ctx, append([]string{"--kubeconfig", kube.Kubeconfig}, args...),
			cli.Options{In: strings.NewReader(""), Out: said, Err: said, Version: "test", Now: time.Now})
	}()
	return said, ended
}

var localURL = regexp.MustCompile(`http://127\.0\.0\.1:\d+\S*`)

var _ = ginkgo.Describe("The kubectl plugin", func() {
	ginkgo.It("reads the logs of several pods, and forwards a port to one and, when that goes, to another", func() {
		namespace := newNamespace()
		model := newModel(namespace, "sentiment", withReplicas(2))
		create(model)
		expectReady(model, aiv1.ReasonReady)

		said, ended := startPlugin(suiteCtx, "logs", "sentiment", "-n", namespace, "--tail", "3")
		Eventually(ended).Should(Receive(BeZero()), said.String())
		for _, pod := range expectPods(model, 2) {
			Expect(said.String()).To(ContainSubstring("[" + pod.Name + "] "))
		}

		ctx, end := context.WithCancel(suiteCtx)
		defer end()
		said, ended = startPlugin(ctx, "url", "sentiment", "-n", namespace, "--port-forward")
		Eventually(said.String).Should(MatchRegexp(localURL.String()))
		address := localURL.FindString(said.String()) + "?text=I+love+it"
		ask := func() (string, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
			if err != nil {
				return "", err
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				return "", err
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			return string(body), err
		}
		Expect(ask()).To(ContainSubstring(`"label":"positive"`))

		first := regexp.MustCompile(`leads to pod (\S+)\.`).FindStringSubmatch(said.String())[1]
		for _, pod := range expectPods(model, 2) {
			if pod.Name == first {
				Expect(k8s.Delete(suiteCtx, &pod)).To(Succeed())
			}
		}
		Eventually(func() string { _, _ = ask(); return said.String() }).WithTimeout(2 * time.Minute).Should(MatchRegexp(`is lost(?s:.*)leads to pod`))
		Eventually(ask).Should(ContainSubstring(`"label":"positive"`))
		end()
		Eventually(ended).Should(Receive(BeZero()))
	})

	ginkgo.It("follows the logs of pods that come later", func() {
		namespace := newNamespace()
		model := newModel(namespace, "sentiment", withReplicas(1))
		create(model)
		expectReady(model, aiv1.ReasonReady)
		first := expectPods(model, 1)[0]
		ctx, end := context.WithCancel(suiteCtx)
		defer end()
		said, ended := startPlugin(ctx, "logs", "sentiment", "-n", namespace, "--follow")
		Eventually(said.String).ShouldNot(BeEmpty())

		scaled, done := startPlugin(ctx, "scale", "sentiment", "-n", namespace, "--replicas", "2")
		Eventually(done).Should(Receive(BeZero()), scaled.String())
		expectReady(model, aiv1.ReasonReady)
		Expect(k8s.Delete(suiteCtx, &first)).To(Succeed())
		for _, pod := range expectPods(model, 2) {
			Eventually(said.String).WithTimeout(starting).Should(And(ContainSubstring("pod "+pod.Name+" is new"), ContainSubstring("["+pod.Name+"] ")))
		}
		Eventually(said.String).WithTimeout(starting).Should(ContainSubstring("pod " + first.Name + " is over"))
		end()
		Eventually(ended).Should(Receive(BeZero()))
	})
})
