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

// missing skips a test whose registry cannot be started, or fails it where that registry must be tested.
func missing(t testing.TB, registry, what string) {
	t.Helper()
	if slices.Contains(strings.Fields(os.Getenv("REQUIRE_REGISTRIES")), registry) {
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

// start runs a program until the test ends, in a group of its own, which is ended whole.
func start(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	// A pipe that is never written to: a program that watches it ends with this process.
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is ended by a signal
		close(ended)
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // it may have ended
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what is left of the group
		<-ended
		if t.Failed() {
			t.Logf("%s wrote at the end:\n%s", filepath.Base(cmd.Path), tail(output.String()))
		}
	})
}

func tail(text string) string {
	const most = 4000
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return text
}

// await waits until a server answers at an address, with any status below 500.
func await(t testing.TB, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode < http.StatusInternalServerError {
				return
			}
			err = fmt.Errorf("status %d", answer.StatusCode)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s did not answer: %v", address, err)
		case <-tick.C:
		}
	}
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
