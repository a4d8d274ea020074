package metrics

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func newTestQueue(t *testing.T, kind string) *Queue {
	t.Helper()
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Hour, 2*time.Hour)
	queue, ok := NewQueue(kind)("test", limiter).(*Queue)
	if !ok {
		t.Fatal("it is another queue")
	}
	t.Cleanup(func() {
		if !queue.ShuttingDown() {
			queue.ShutDown()
		}
	})
	return queue
}

func item(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "a", Name: name}}
}

func TestTheAgeOfAQueue(t *testing.T) {
	const later = 10 * time.Hour
	for name, tc := range map[string]struct {
		act func(*Queue)
		// wantAge is how old the queue is a long time after, to the hour.
		wantAge time.Duration
	}{
		"nothing waits":    {func(*Queue) {}, 0},
		"one waits":        {func(q *Queue) { q.Add(item("a")) }, later},
		"one is taken out": {func(q *Queue) { q.Add(item("a")); q.Get() }, 0},
		"one is taken out by its priority": {func(q *Queue) {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(1)}, item("a"))
			q.GetWithPriority()
		}, 0},
		"the other one still waits":            {func(q *Queue) { q.Add(item("a")); q.Add(item("b")); q.Get() }, later},
		"one comes back while it is worked on": {func(q *Queue) { q.Add(item("a")); q.Get(); q.Add(item("a")) }, later},
		"one is due in three hours":            {func(q *Queue) { q.AddAfter(item("a"), 3*time.Hour) }, later - 3*time.Hour},
		"the earlier time counts":              {func(q *Queue) { q.AddAfter(item("a"), 3*time.Hour); q.AddAfter(item("a"), time.Hour) }, later - time.Hour},
		"a later time does not":                {func(q *Queue) { q.AddAfter(item("a"), time.Hour); q.AddAfter(item("a"), 3*time.Hour) }, later - time.Hour},
		"one is due long after":                {func(q *Queue) { q.AddAfter(item("a"), 20*time.Hour) }, 0},
		"one failed once":                      {func(q *Queue) { q.AddRateLimited(item("a")) }, later - time.Hour},
		"one failed twice": {func(q *Queue) {
			q.AddRateLimited(item("b"))
			q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, Priority: ptr.To(1)}, item("a"))
			q.AddRateLimited(item("b"))
		}, later - time.Hour},
		"one failed and is due anyhow": {func(q *Queue) {
			q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true, After: time.Minute}, item("a"))
		}, later},
		"the queue has ended": {func(q *Queue) { q.Add(item("a")); q.ShutDown() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			queue := newTestQueue(t, "AIModel")
			tc.act(queue)
			// The limiter is asked on another goroutine.
			NewWithT(t).Eventually(func() time.Duration { return queue.Oldest(time.Now().Add(later)).Round(time.Hour) }).
				WithTimeout(10 * time.Second).Should(Equal(tc.wantAge))
		})
	}
}

func TestTheAgeOfAQueueIsServed(t *testing.T) {
	queue := newTestQueue(t, "InferenceService")
	queue.AddAfter(item("a"), -time.Hour)
	key := "aimodel_operator_queue_oldest_seconds kind=InferenceService"
	if got := gathered(t)[key]; got < 3600 || got > 3660 {
		t.Errorf("%s = %v, want an hour", key, got)
	}
}

func BenchmarkQueue(b *testing.B) {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Hour, time.Hour)
	plain := priorityqueue.New[reconcile.Request]("plain")
	defer plain.ShutDown()
	ours := NewQueue("AIModel")("ours", limiter)
	defer ours.ShutDown()
	for name, queue := range map[string]workqueue.TypedRateLimitingInterface[reconcile.Request]{"plain": plain, "with ages": ours} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				queue.Add(item("a"))
				got, _ := queue.Get()
				queue.Done(got)
			}
		})
	}
}
