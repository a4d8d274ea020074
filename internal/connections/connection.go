package connections

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/guard"
)

// requestsPerCall is how many requests a call may take, each with the whole timeout, before it is given up.
const requestsPerCall = 4

// Connection calls one registry.
type Connection struct {
	kind    string
	backend registry.Backend
	guard   *guard.Guard[types.NamespacedName]
	timeout time.Duration
	// stale makes the next Open read the Secret again.
	stale func()
	close func()
}

// Register calls the backend's Register for an object, unless the guard refuses: then the error is guard.ErrBusy or
// guard.ErrOpen.
func (c *Connection) Register(ctx context.Context, object types.NamespacedName, what registry.Registration) (registry.Entry, error) {
	var entry registry.Entry
	err := c.guard.Do(ctx, object, func(ctx context.Context) error {
		return c.timed(ctx, "register", func(ctx context.Context) (err error) {
			entry, err = c.backend.Register(ctx, what)
			return err
		})
	})
	return entry, err
}

// Unregister calls the backend's Unregister; else as Register.
func (c *Connection) Unregister(
	ctx context.Context, object types.NamespacedName, what registry.Registration, policy registry.DeletionPolicy,
) error {
	return c.guard.Do(ctx, object, func(ctx context.Context) error {
		return c.timed(ctx, "unregister", func(ctx context.Context) error { return c.backend.Unregister(ctx, what, policy) })
	})
}

// Check calls the backend's Check, whatever the guard says, and tells the guard what came of it.
func (c *Connection) Check(ctx context.Context) error {
	return c.guard.Probe(ctx, func(ctx context.Context) error { return c.timed(ctx, "check", c.backend.Check) })
}

// OpenFor says for how long the registry is left alone, or 0.
func (c *Connection) OpenFor() time.Duration { return c.guard.OpenFor() }

func (c *Connection) timed(ctx context.Context, operation string, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestsPerCall*c.timeout)
	defer cancel()
	start := time.Now()
	err := call(ctx)
	metrics.ObserveRegistryCall(c.kind, operation, result(err), time.Since(start))
	if problem := registry.AsError(err); problem != nil && problem.Reason == registry.Unauthorized {
		c.stale()
	}
	return err
}

func result(err error) string {
	problem := registry.AsError(err)
	switch {
	case problem == nil:
		return metrics.CallOK
	case problem.Passes():
		return metrics.CallFailed
	default:
		return metrics.CallRefused
	}
}

// Refused says whether the guard did not let the call run.
func Refused(err error) bool { return errors.Is(err, guard.ErrBusy) || errors.Is(err, guard.ErrOpen) }

// Busy says whether the guard did not let the call run because it is not its turn yet. Nothing is wrong then.
func Busy(err error) bool { return errors.Is(err, guard.ErrBusy) }
