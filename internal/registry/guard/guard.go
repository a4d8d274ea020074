// Package guard stands between the operator and one registry: it bounds the calls that run at a time, and stops calling a
// registry that does not answer, so that a dead one costs nothing. It must never wait: a call that may not run now is
// refused, and whoever wanted it is told when it may come back.
package guard

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// The errors of a call that did not run.
var (
	// ErrBusy: as many calls as may run at a time are running. The key will be woken.
	ErrBusy = errors.New("other calls to the registry are running")
	// ErrOpen: the registry did not answer several times, and is left alone for a while.
	ErrOpen = errors.New("the registry did not answer, and is left alone for a while")
)

const (
	// failuresToOpen in a row open the circuit.
	failuresToOpen = 3
	// firstPause and lastPause bound how long an open circuit stays open; each trial that fails doubles it.
	firstPause = 10 * time.Second
	lastPause  = 2 * time.Minute
)

// Guard watches over one registry, for callers that a key of type K names. Make it with New.
type Guard[K comparable] struct {
	limit int
	wake  func(key K)
	now   func() time.Time

	mu       sync.Mutex
	running  int
	waiting  []K
	queued   map[K]bool
	failures int
	pause    time.Duration
	opensAt  time.Time // when a trial may run; zero while the circuit is closed
	trial    bool      // a trial is running
}

// New makes a guard that lets limit calls run at a time. Wake is called for a key that was refused as busy, or while the circuit was
// open, once it may come back; it must not block.
func New[K comparable](limit int, wake func(key K)) *Guard[K] {
	return &Guard[K]{limit: limit, wake: wake, now: time.Now, queued: map[K]bool{}}
}

// Do runs the call, or returns ErrBusy or an error that wraps ErrOpen. A call that fails with Unreachable counts against the
// registry; RateLimited, with a pause, opens the circuit for that pause.
func (g *Guard[K]) Do(ctx context.Context, key K, call func(context.Context) error) error {
	trial, err := g.enter(key)
	if err != nil {
		return err
	}
	var outcome error
	defer func() { g.leave(ctx, trial, outcome) }()
	outcome = call(ctx)
	return outcome
}

// Probe runs the call whatever the state of the circuit, and closes the circuit if it succeeds. It is for the background check.
func (g *Guard[K]) Probe(ctx context.Context, call func(context.Context) error) error {
	err := call(ctx)
	g.mu.Lock()
	defer g.unlockAndWake()
	g.note(ctx, err)
	return err
}

// OpenFor says how long the circuit stays open, or 0.
func (g *Guard[K]) OpenFor() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opensAt.IsZero() {
		return 0
	}
	return max(g.opensAt.Sub(g.now()), time.Second)
}

func (g *Guard[K]) enter(key K) (trial bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.opensAt.IsZero() {
		if g.trial || g.now().Before(g.opensAt) {
			g.enqueue(key)
			return false, ErrOpen
		}
		trial = true
	}
	if g.running >= g.limit {
		g.enqueue(key)
		return false, ErrBusy
	}
	g.trial = g.trial || trial
	g.running++
	return trial, nil
}

func (g *Guard[K]) enqueue(key K) {
	if !g.queued[key] {
		g.queued[key] = true
		g.waiting = append(g.waiting, key)
	}
}

func (g *Guard[K]) leave(ctx context.Context, trial bool, err error) {
	g.mu.Lock()
	defer g.unlockAndWake()
	g.running--
	if trial {
		g.trial = false
	}
	g.note(ctx, err)
}

// note draws the conclusions from the end of a call.
func (g *Guard[K]) note(ctx context.Context, err error) {
	problem := registry.AsError(err)
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		// The operator stops; that says nothing about the registry.
	case problem != nil && problem.Reason == registry.RateLimited && problem.RetryAfter > 0:
		g.opensAt = later(g.opensAt, g.now().Add(wait.Jitter(problem.RetryAfter, 0.2)))
	case problem != nil && problem.Reason == registry.Unreachable:
		g.failures++
		if g.failures >= failuresToOpen {
			g.pause = min(max(2*g.pause, firstPause), lastPause)
			g.opensAt = later(g.opensAt, g.now().Add(wait.Jitter(max(g.pause, problem.RetryAfter), 0.2)))
		}
	default:
		// Any answer, also a refusal, is one.
		g.failures, g.pause, g.opensAt = 0, 0, time.Time{}
	}
}

// unlockAndWake wakes as many of those that wait as may run now.
func (g *Guard[K]) unlockAndWake() {
	var woken []K
	if free := g.limit - g.running; g.opensAt.IsZero() && free > 0 {
		count := min(free, len(g.waiting))
		woken, g.waiting = g.waiting[:count:count], g.waiting[count:]
		for _, key := range woken {
			delete(g.queued, key)
		}
	}
	g.mu.Unlock()
	for _, key := range woken {
		g.wake(key)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
