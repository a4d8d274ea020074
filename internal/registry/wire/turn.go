package wire

import (
	"context"
	"hash/fnv"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

var turns = func() (all [256]chan struct{}) {
	for i := range all {
		all[i] = make(chan struct{}, 1)
	}
	return all
}()

// Turn waits until nobody else of this process works on a place in a registry, which it is named by. It is for what takes
// several requests in a registry that has no transactions. The caller calls what it returns when it is done.
func Turn(ctx context.Context, place string) (func(), error) {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(place)) // it never fails
	mine := turns[sum.Sum32()%uint32(len(turns))]
	select {
	case mine <- struct{}{}:
		return func() { <-mine }, nil
	case <-ctx.Done():
		return nil, registry.FromTransport(ctx.Err())
	}
}
