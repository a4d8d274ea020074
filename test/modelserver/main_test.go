package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

func TestStopLetsRequestsFinish(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := contextOf(t)
	ended := make(chan error, 1)
	opts := options{Path: "/p", RequestDelay: 100 * time.Millisecond, ShutdownTimeout: 10 * time.Second}
	go func() { ended <- run(ctx, opts, listener, quiet, func(int) { t.Error("it crashed") }) }()

	base := "http://" + listener.Addr().String()
	eventually(t, func() bool { return fetch(base+"/health") == "200" })
	answered := make(chan string, 1)
	go func() { answered <- fetch(base + "/p?text=good") }()
	eventually(t, func() bool { return strings.Contains(body(base+"/metrics"), "modelserver_requests_in_flight 1") })
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want a clean stop", err)
	}
	if code := <-answered; code != "200" {
		t.Errorf("the request in flight got %s, want 200", code)
	}
	if code := fetch(base + "/health"); code == "200" {
		t.Error("it still answers after the stop")
	}
}

func TestStopGivesUpOnRequestsThatTakeTooLong(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := contextOf(t)
	ended := make(chan error, 1)
	opts := options{Path: "/p", RequestDelay: time.Hour, ShutdownTimeout: 10 * time.Millisecond}
	go func() { ended <- run(ctx, opts, listener, quiet, func(int) {}) }()
	base := "http://" + listener.Addr().String()
	eventually(t, func() bool { return fetch(base+"/health") == "200" })
	client, cancel := contextOf(t)
	request, err := http.NewRequestWithContext(client, http.MethodGet, base+"/p?text=good", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}()
	eventually(t, func() bool { return strings.Contains(body(base+"/metrics"), "modelserver_requests_in_flight 1") })
	stop()
	if err := <-ended; err == nil {
		t.Error("got no error, want one that says that the drain ran out of time")
	}
	cancel()
}

func TestDrainingIsNotHealthy(t *testing.T) {
	s := loadedServer(t, options{})
	s.draining.Store(true)
	if w := get(s, "/health"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("got %d, want 503", w.Code)
	}
}

func TestCrashLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var code atomic.Int64
		code.Store(-1)
		exit := func(c int) { code.Store(int64(c)) }
		ctx, cancel := contextOf(t)
		go crashLater(ctx, options{ExitAfter: moment{set: true, after: time.Minute}, ExitCode: 42}, quiet, exit)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if got := code.Load(); got != -1 {
			t.Errorf("it crashed too early, with %d", got)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := code.Load(); got != 42 {
			t.Errorf("got exit code %d, want 42", got)
		}

		code.Store(-1)
		crashLater(ctx, options{}, quiet, exit)
		go crashLater(ctx, options{ExitAfter: moment{set: true, after: time.Minute}}, quiet, exit)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if got := code.Load(); got != -1 {
			t.Errorf("it crashed with %d, though not told to or stopped before", got)
		}
	})
}

func TestFillMemory(t *testing.T) {
	kept, err := fillMemory(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != 3 {
		t.Fatalf("got %d blocks, want 3", len(kept))
	}
	for _, block := range kept {
		if len(block) != mebibyte || block[0] != 1 || block[len(block)-pageSize] != 1 {
			t.Error("a block is not touched from its first to its last page")
		}
	}
	ctx, cancel := contextOf(t)
	cancel()
	if _, err := fillMemory(ctx, 1<<30); err == nil {
		t.Error("a stopped server goes on filling memory")
	}
}

// eventually polls until done; the network has no clock that a test could turn.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen in time")
		}
		time.Sleep(time.Millisecond)
	}
}

// fetch returns the status code as text, or the error.
func fetch(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	return response.Status[:3]
}

func body(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(content)
}
