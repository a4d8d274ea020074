package guard

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newGuard(limit int) (*Guard[string], *clock, *[]string) {
	var woken []string
	time0 := &clock{time.Unix(1000, 0)}
	g := New(limit, func(key string) { woken = append(woken, key) })
	g.now = time0.now
	return g, time0, &woken
}

func call(err error) func(context.Context) error { return func(context.Context) error { return err } }

var errDown = registry.Errorf(registry.Unreachable, "down")

func TestCallsBeyondTheLimitAreRefusedAndWokenInOrder(t *testing.T) {
	g, _, woken := newGuard(1)
	err := g.Do(t.Context(), "a", func(ctx context.Context) error {
		for _, key := range []string{"b", "c", "b"} {
			if err := g.Do(ctx, key, call(nil)); !errors.Is(err, ErrBusy) {
				t.Errorf("%s: %v", key, err)
			}
		}
		return nil
	})
	if err != nil || !slices.Equal(*woken, []string{"b"}) {
		t.Errorf("%v, woken %v", err, *woken)
	}
	if err := g.Do(t.Context(), "b", call(nil)); err != nil || !slices.Equal(*woken, []string{"b", "c"}) {
		t.Errorf("%v, woken %v", err, *woken)
	}
}

func TestADeadRegistryIsLeftAloneThenTriedByOne(t *testing.T) {
	g, time0, woken := newGuard(4)
	for range failuresToOpen {
		if err := g.Do(t.Context(), "a", call(errDown)); !errors.Is(err, errDown) {
			t.Fatal(err)
		}
	}
	if err := g.Do(t.Context(), "b", call(nil)); !errors.Is(err, ErrOpen) || g.OpenFor() < firstPause {
		t.Errorf("%v, open for %s", err, g.OpenFor())
	}
	time0.at = time0.at.Add(2 * firstPause)
	err := g.Do(t.Context(), "a", func(ctx context.Context) error {
		if err := g.Do(ctx, "c", call(nil)); !errors.Is(err, ErrOpen) {
			t.Errorf("beside the trial: %v", err)
		}
		return errDown
	})
	if !errors.Is(err, errDown) || g.OpenFor() < 2*firstPause || len(*woken) != 0 {
		t.Errorf("%v, open for %s, woken %v", err, g.OpenFor(), *woken)
	}
	time0.at = time0.at.Add(lastPause)
	if err := g.Do(t.Context(), "a", call(nil)); err != nil || g.OpenFor() != 0 || !slices.Equal(*woken, []string{"b", "c"}) {
		t.Errorf("%v, open for %s, woken %v", err, g.OpenFor(), *woken)
	}
}

func TestAProbeClosesTheCircuitAndWakesAll(t *testing.T) {
	g, _, woken := newGuard(4)
	for range failuresToOpen {
		_ = g.Do(t.Context(), "a", call(errDown))
	}
	_ = g.Do(t.Context(), "b", call(nil))
	if err := g.Probe(t.Context(), call(nil)); err != nil || g.OpenFor() != 0 || !slices.Equal(*woken, []string{"b"}) {
		t.Errorf("%v, open for %s, woken %v", err, g.OpenFor(), *woken)
	}
}

func TestRefusalsAreAnswers(t *testing.T) {
	g, _, _ := newGuard(4)
	for range 5 {
		for _, err := range []error{errDown, errDown, registry.Errorf(registry.Conflict, "taken")} {
			_ = g.Do(t.Context(), "a", call(err))
		}
	}
	if g.OpenFor() != 0 {
		t.Error("the circuit is open")
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	g, time0, _ := newGuard(4)
	limited := &registry.Error{Reason: registry.RateLimited, RetryAfter: time.Minute, Err: errors.New("slow down")}
	_ = g.Do(t.Context(), "a", call(limited))
	time0.at = time0.at.Add(59 * time.Second)
	if err := g.Do(t.Context(), "a", call(nil)); !errors.Is(err, ErrOpen) {
		t.Errorf("before the pause is over: %v", err)
	}
	time0.at = time0.at.Add(time.Minute)
	if err := g.Do(t.Context(), "a", call(nil)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestTheEndOfTheOperatorSaysNothingOfTheRegistry(t *testing.T) {
	g, _, _ := newGuard(4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 * failuresToOpen {
		_ = g.Do(ctx, "a", call(ctx.Err()))
	}
	if g.OpenFor() != 0 {
		t.Error("the circuit is open")
	}
}
