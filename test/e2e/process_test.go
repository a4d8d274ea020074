package e2e

import (
	"net/http"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	runner "github.com/aimodel-operator/aimodel-operator/test/process"
)

// process is the operator's binary, as it ships.
type process struct {
	// log is the file that it logs to, over all its starts.
	log string

	running *runner.Process
}

// start returns when the operator is ready, that is, when its caches are filled.
func (p *process) start() {
	ginkgo.GinkgoHelper()
	probes, err := runner.FreeAddress(suiteCtx)
	Expect(err).NotTo(HaveOccurred())
	p.running, err = runner.Start(p.log, []string{"KUBECONFIG=" + kube.Kubeconfig}, binary(tests, "manager"),
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address="+probes)
	Expect(err).NotTo(HaveOccurred())

	Eventually(func(g Gomega) {
		g.Expect(p.running.Running()).To(Succeed())
		request, err := http.NewRequestWithContext(suiteCtx, http.MethodGet, "http://"+probes+"/readyz", http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := http.DefaultClient.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(response.StatusCode).To(Equal(http.StatusOK))
	}).WithTimeout(starting).Should(Succeed(), "the operator does not become ready")
}

// stop ends the operator and holds that it ends well.
func (p *process) stop() {
	ginkgo.GinkgoHelper()
	Expect(p.running.Stop(soon)).To(Succeed(), "the operator does not end, or not with 0")
}
