package e2e

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// lifeline runs a command that ends when standard input does, and so with the test process, however that ends.
const lifeline = `exec 3<&0
"$@" </dev/null 3<&- & pid=$!
{ cat <&3; kill "$pid"; } >/dev/null 2>&1 &
wait "$pid"`

// process is the operator's binary, as it ships.
type process struct {
	// log is the file that it logs to, over all its starts.
	log string

	cmd   *exec.Cmd
	stdin io.Closer
	ended chan error
}

// start returns when the operator is ready, that is, when its caches are filled.
func (p *process) start() {
	ginkgo.GinkgoHelper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	Expect(err).NotTo(HaveOccurred())
	defer log.Close() //nolint:errcheck // the process has its own handle

	probes := freeAddress()
	p.cmd = exec.CommandContext(suiteCtx, "sh", "-c", lifeline, "sh", binary(tests, "manager"),
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address="+probes)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+kube.Kubeconfig)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// Ctrl-C is for the tests, which then stop the operator.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.stdin, err = p.cmd.StdinPipe()
	Expect(err).NotTo(HaveOccurred())
	Expect(p.cmd.Start()).To(Succeed())
	p.ended = make(chan error, 1)
	go func() { p.ended <- p.cmd.Wait() }()

	Eventually(func(g Gomega) {
		g.Expect(p.ended).NotTo(Receive(), "it ended at its start")
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
	Expect(p.stdin.Close()).To(Succeed())
	Eventually(p.ended).Should(Receive(Succeed()), "the operator does not end, or not with 0")
}

// freeAddress is one that nothing listens on at the moment.
func freeAddress() string {
	ginkgo.GinkgoHelper()
	listener, err := new(net.ListenConfig).Listen(suiteCtx, "tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer listener.Close() //nolint:errcheck // nothing was written
	return listener.Addr().String()
}
