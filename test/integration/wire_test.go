package integration

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
)

// wire is the network between an operator and the API server, which a spec may break.
type wire struct {
	target string

	mu    sync.Mutex
	lines map[*line]bool
	state wireState
}

type wireState int

const (
	whole wireState = iota
	// cut: every connection ends at once.
	cut
	// silent: connections stay open and carry nothing, as when a firewall forgets them.
	silent
)

// newWire returns a wire that is whole, and the configuration of an operator at its end. It is gone with the spec.
func newWire() (*wire, *rest.Config) {
	ginkgo.GinkgoHelper()
	config := operatorConfig()
	target, err := url.Parse(config.Host)
	Expect(err).NotTo(HaveOccurred())
	listener, err := new(net.ListenConfig).Listen(suiteCtx, "tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	w := &wire{target: target.Host, lines: map[*line]bool{}}
	go w.accept(listener)
	ginkgo.DeferCleanup(func() {
		Expect(listener.Close()).To(Succeed())
		w.become(cut)
	})

	config.Host = "https://" + listener.Addr().String()
	// A dialer of its own keeps the connections apart from those of other clients.
	config.Dial = new(net.Dialer).DialContext
	return w, config
}

// become changes how new connections fare, and what is open fares alike, but for one thing: a connection that was silent once
// stays so.
func (w *wire) become(state wireState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = state
	for line := range w.lines {
		line.follow(state)
	}
}

func (w *wire) accept(listener net.Listener) {
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		go w.connect(near)
	}
}

func (w *wire) connect(near net.Conn) {
	far, err := new(net.Dialer).DialContext(suiteCtx, "tcp", w.target)
	if err != nil {
		_ = near.Close()
		return
	}
	l := &line{near: near, far: far}
	w.mu.Lock()
	w.lines[l] = true
	l.follow(w.state)
	w.mu.Unlock()

	l.carry()

	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.lines, l)
}

// line is one connection of a wire.
type line struct {
	near, far net.Conn
	dead      atomic.Bool
}

func (l *line) follow(state wireState) {
	switch state {
	case cut:
		l.close()
	case silent:
		l.dead.Store(true)
	case whole:
	}
}

func (l *line) close() {
	_ = l.near.Close()
	_ = l.far.Close()
}

// carry returns when either end has closed the connection.
func (l *line) carry() {
	var ways sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{l.near: l.far, l.far: l.near} {
		ways.Go(func() {
			defer l.close()
			_, _ = io.Copy(unlessDead{to, &l.dead}, from)
		})
	}
	ways.Wait()
}

// unlessDead drops what is written once the line is dead.
type unlessDead struct {
	to   io.Writer
	dead *atomic.Bool
}

func (u unlessDead) Write(data []byte) (int, error) {
	if u.dead.Load() {
		return len(data), nil
	}
	return u.to.Write(data)
}
