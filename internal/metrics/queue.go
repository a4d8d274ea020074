package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var queueAge = newGauge("aimodel_operator_queue_oldest_seconds",
	"For how long the object that has waited longest for its reconcile has been due; 0 when none waits.", kindLabel)

// queues are the queues of the controllers that have started, by kind.
var queues = &queueCollector{queues: map[string]*Queue{}}

func init() { ctrlmetrics.Registry.MustRegister(queues) }

type queueCollector struct {
	mu     sync.Mutex
	queues map[string]*Queue
}

// Describe names the metric.
func (c *queueCollector) Describe(descs chan<- *prometheus.Desc) { descs <- queueAge }

// Collect looks at every queue.
func (c *queueCollector) Collect(found chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for kind, queue := range c.queues {
		found <- prometheus.MustNewConstMetric(queueAge, prometheus.GaugeValue, queue.Oldest(time.Now()).Seconds(), kind)
	}
}

// Queue is a controller's queue that knows since when each object in it is due.
type Queue struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	mu  sync.Mutex
	due map[reconcile.Request]time.Time
}

// limiter says for how long an object is held back after an error.
type limiter = workqueue.TypedRateLimiter[reconcile.Request]

// NewQueue gives what a controller makes its queue with. The queue is the usual one, and its age is a metric of the kind.
func NewQueue(kind string) func(string, limiter) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return func(name string, held limiter) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		queue := &Queue{due: map[reconcile.Request]time.Time{}}
		queue.PriorityQueue = priorityqueue.New(name, func(options *priorityqueue.Opts[reconcile.Request]) {
			options.RateLimiter = &dueLimiter{held, queue}
		})
		queues.mu.Lock()
		defer queues.mu.Unlock()
		queues.queues[kind] = queue
		return queue
	}
}

// Oldest says for how long the object that has waited longest has been due.
func (q *Queue) Oldest(now time.Time) time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	var oldest time.Duration
	for _, due := range q.due {
		oldest = max(oldest, now.Sub(due))
	}
	return oldest
}

// note remembers when an object is due. It has to be called before the object is in the queue: noted afterwards, an object
// that was taken out in between would seem to wait for ever.
func (q *Queue) note(after time.Duration, items ...reconcile.Request) {
	due := time.Now().Add(after)
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, item := range items {
		if known, ok := q.due[item]; !ok || due.Before(known) {
			q.due[item] = due
		}
	}
}

func (q *Queue) started(item reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.due, item)
}

// Add queues an object.
func (q *Queue) Add(item reconcile.Request) {
	q.note(0, item)
	q.PriorityQueue.Add(item)
}

// AddAfter queues an object that is due later.
func (q *Queue) AddAfter(item reconcile.Request, after time.Duration) {
	q.note(after, item)
	q.PriorityQueue.AddAfter(item, after)
}

// AddWithOpts queues objects. Of those that are held back after an error the limiter knows when they are due.
func (q *Queue) AddWithOpts(options priorityqueue.AddOpts, items ...reconcile.Request) {
	if !options.RateLimited || options.After > 0 {
		q.note(options.After, items...)
	}
	q.PriorityQueue.AddWithOpts(options, items...)
}

// Get takes the next object out.
func (q *Queue) Get() (reconcile.Request, bool) {
	item, shutdown := q.PriorityQueue.Get()
	q.started(item)
	return item, shutdown
}

// GetWithPriority takes the next object out, and gives its priority.
func (q *Queue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	item, priority, shutdown = q.PriorityQueue.GetWithPriority()
	q.started(item)
	return item, priority, shutdown
}

// ShutDown ends the queue. Nothing in it is due any more.
func (q *Queue) ShutDown() {
	q.PriorityQueue.ShutDown()
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.due)
}

// dueLimiter tells the queue when an object that failed is due again.
type dueLimiter struct {
	limiter
	queue *Queue
}

// When says for how long the object is held back.
func (l *dueLimiter) When(item reconcile.Request) time.Duration {
	after := l.limiter.When(item)
	l.queue.note(after, item)
	return after
}
