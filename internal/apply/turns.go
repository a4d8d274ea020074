package apply

import (
	"errors"
	"slices"
	"sync/atomic"
)

// ErrNotYet says that the pods were started and that what they do not need is to be applied a moment later: now it would
// keep other owners waiting for their pods. Nothing is wrong.
var ErrNotYet = errors.New("the pods are started, and what they do not need follows in a moment")

// turnsAtOnce is how many Services are created at once for owners whose Deployment was created a moment before. The API server
// gives out cluster addresses one at a time, each with a write of its own, so that more would only stand in line there.
const turnsAtOnce = 2

// turns lets a few in at a time. The zero value is ready for use.
type turns struct{ taken atomic.Int32 }

// take says whether an object may be applied now, after those changes of the same pass. If so, giveBack is to be called
// when it was.
func (t *turns) take(object Object, changes []Change) (giveBack func(), ok bool) {
	isStart := slices.ContainsFunc(changes, func(c Change) bool { return c.Action == Created && c.Kind == "Deployment" })
	if !isStart || object.GVK.Kind != "Service" {
		return func() {}, true
	}
	giveBack = func() { t.taken.Add(-1) }
	if t.taken.Add(1) > turnsAtOnce {
		giveBack()
		return nil, false
	}
	return giveBack, true
}
