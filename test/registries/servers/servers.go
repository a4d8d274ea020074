// Package servers starts real model registries for tests, each on 127.0.0.1 with an empty store, and ends them with the test.
// What is needed for one is installed by `make registries`; a test whose registry is not there is skipped, and says what is
// missing, or fails if REQUIRE_REGISTRIES names the registry.
package servers

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const startTimeout = 3 * time.Minute

// root is the folder of the repository.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// required says whether the tests against a registry have to be run.
func required(registry string) bool {
	return slices.Contains(strings.Fields(os.Getenv("REQUIRE_REGISTRIES")), registry)
}

// missing skips a test whose registry cannot be started, or fails it where that registry must be tested.
func missing(t testing.TB, registry, what string) {
	t.Helper()
	if required(registry) {
		t.Fatalf("The %s registry must be tested, and %s", registry, what)
	}
	t.Skipf("NOT TESTED against a real %s registry: %s", registry, what)
}

// port is one that nothing listens on.
func port(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// Process is the program of a server. A test may stop it and start it again, at the same address and with the same store.
type Process struct {
	t       testing.TB
	command func() *exec.Cmd
	// ready returns nil once the server can be used.
	ready func() error

	cmd    *exec.Cmd
	ended  chan struct{}
	output bytes.Buffer
}

// run starts the program that command makes, and waits until something is answered at an address. It runs until the test ends, in a
// group of its own.
func run(t testing.TB, address string, command func() *exec.Cmd) *Process {
	t.Helper()
	return runUntil(t, func() error { return answers(address) }, command)
}

func runUntil(t testing.TB, ready func() error, command func() *exec.Cmd) *Process {
	t.Helper()
	p := &Process{t: t, command: command, ready: ready}
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("%s wrote at the end:\n%s", filepath.Base(p.cmd.Path), tail(p.output.String()))
		}
	})
	p.Start()
	return p
}

// Start starts the program again after Stop, and waits until it answers.
func (p *Process) Start() {
	p.t.Helper()
	p.cmd = p.command()
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	if p.cmd.SysProcAttr == nil {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.cmd.SysProcAttr.Setpgid = true
	// A pipe that is never written to: a program that watches it ends with this process.
	if _, err := p.cmd.StdinPipe(); err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatalf("start %s: %v", p.cmd.Path, err)
	}
	cmd, ended := p.cmd, make(chan struct{})
	p.ended = ended
	go func() {
		_ = cmd.Wait() // it is ended by a signal
		close(ended)
	}()
	p.await()
}

// Stop ends the program and all that it started. Its store stays.
func (p *Process) Stop() {
	if p.ended == nil {
		return
	}
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT)
	select {
	case <-p.ended:
	case <-time.After(10 * time.Second):
	}
	p.signal(syscall.SIGKILL) // what is left of the group
	<-p.ended
	p.ended = nil
}

// Freeze makes the server hang: connections are taken, and nothing is answered, until Thaw.
func (p *Process) Freeze() { p.signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (p *Process) Thaw() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(which syscall.Signal) {
	_ = syscall.Kill(-p.cmd.Process.Pid, which) // it may have ended
}

func tail(text string) string {
	const most = 4000
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return text
}

// await waits until the server can be used.
func (p *Process) await() {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), startTimeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.ready()
		if err == nil {
			return
		}
		select {
		case <-p.ended:
			p.t.Fatalf("%s ended:\n%s", filepath.Base(p.cmd.Path), tail(p.output.String()))
		case <-ctx.Done():
			p.t.Fatalf("%s cannot be used: %v", filepath.Base(p.cmd.Path), err)
		case <-tick.C:
		}
	}
}

// answers says whether something answers at an address, with any status below 500.
func answers(address string) error {
	client := &http.Client{Timeout: 10 * time.Second}
	answer, err := client.Get(address)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("%s answers %d", address, answer.StatusCode)
	}
	return nil
}

// connects says whether something takes connections at a port.
func connects(port int) error {
	connection, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err != nil {
		return err
	}
	return connection.Close()
}

// Do sends a request as an administrator would, and returns the status, the header and the body of the answer.
func Do(t testing.TB, method, address string, header http.Header, body string) (int, http.Header, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, read
}
