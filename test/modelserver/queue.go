package main

import (
	"context"
	"sync/atomic"
)

// queue lets a bounded number of requests through at once and counts those that wait and those that run.
type queue struct {
	// slots is nil when there is no bound.
	slots   chan struct{}
	waiting atomic.Int64
	running atomic.Int64
}

func newQueue(concurrency int) *queue {
	q := &queue{}
	if concurrency > 0 {
		q.slots = make(chan struct{}, concurrency)
	}
	return q
}

// enter waits for a slot. When it returns no error, the caller must call leave.
func (q *queue) enter(ctx context.Context) error {
	if q.slots != nil {
		q.waiting.Add(1)
		defer q.waiting.Add(-1)
		select {
		case q.slots <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	q.running.Add(1)
	return nil
}

func (q *queue) leave() {
	q.running.Add(-1)
	if q.slots != nil {
		<-q.slots
	}
}
