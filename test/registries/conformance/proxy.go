package conformance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
)

// Way is how a request goes wrong.
type Way string

// The ways. A cut is a connection that ends without an answer: before the registry got the request, or after it acted.
const (
	CutBefore Way = "cut before"
	CutAfter  Way = "cut after"
	Slow      Way = "slow"
	Status    Way = "status"
)

// Fault is what the proxy does to requests.
type Fault struct {
	Way    Way
	Status int
	Header http.Header
	// At is the number of the first request that it strikes, from 1. Once spares those after it.
	At   int
	Once bool
}

func (f Fault) String() string {
	name := string(f.Way)
	if f.Way == Status {
		name = fmt.Sprintf("status %d", f.Status)
	}
	if f.Once {
		return fmt.Sprintf("%s of request %d", name, f.At)
	}
	return fmt.Sprintf("%s from request %d on", name, f.At)
}

// Proxy stands between a backend and its registry, and injects faults.
type Proxy struct {
	// URL is the registry's address, with the proxy's host.
	URL string

	lock     sync.Mutex
	fault    *Fault
	requests int
	writes   []string
	struck   bool
	released chan struct{}
}

// NewProxy starts a proxy in front of the registry at an address. It ends with the test.
func NewProxy(t testing.TB, address string) *Proxy {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &Proxy{released: make(chan struct{})}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Host = r.In.Host // registries make addresses of it, which then lead here too
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proxy.serve(forward, w, r) }))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	proxy.URL = server.URL + target.Path
	return proxy
}

// Arm injects a fault, and counts from now on.
func (p *Proxy) Arm(fault Fault) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.reset()
	p.fault = &fault
}

// Disarm ends the fault, counts from now on, and says whether it struck.
func (p *Proxy) Disarm() bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	struck := p.struck
	p.reset()
	return struck
}

func (p *Proxy) reset() {
	close(p.released)
	p.released = make(chan struct{})
	p.fault, p.requests, p.writes, p.struck = nil, 0, nil, false
}

// Writes are the requests since Arm or Disarm that were not only reading.
func (p *Proxy) Writes() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return append([]string(nil), p.writes...)
}

func (p *Proxy) next(r *http.Request) (*Fault, chan struct{}) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.requests++
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		p.writes = append(p.writes, r.Method+" "+r.URL.Path)
	}
	if p.fault == nil || p.requests < p.fault.At || p.fault.Once && p.requests > p.fault.At {
		return nil, nil
	}
	p.struck = true
	return p.fault, p.released
}

func (p *Proxy) serve(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	fault, released := p.next(r)
	if fault == nil {
		forward.ServeHTTP(w, r)
		return
	}
	switch fault.Way {
	case CutBefore:
		panic(http.ErrAbortHandler)
	case CutAfter:
		forward.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case Slow:
		select {
		case <-r.Context().Done():
		case <-released:
		}
		panic(http.ErrAbortHandler)
	case Status:
		for name, values := range fault.Header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(fault.Status)
		// Some servers repeat what they were sent; it may get no further than the backend.
		said := fmt.Sprintf("injected, and you sent %s", r.Header.Get("Authorization"))
		fmt.Fprintf(w, `{"message": %q, "error_code": "INJECTED", "errors": [{"code": "INJECTED", "message": %q}]}`, said, said)
	}
}
