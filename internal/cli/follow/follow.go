package follow

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Line is one transition.
type Line struct {
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`
	Name   string    `json:"name"`
	What   string    `json:"what"`
	From   string    `json:"from,omitempty"`
	To     string    `json:"to"`
	Detail string    `json:"detail,omitempty"`
}

// Subject is a set of objects to follow.
type Subject struct {
	Resource  schema.GroupVersionResource
	Namespace string
	// Name is that of one object. Empty follows all.
	Name string
	// Labels select objects. Empty selects all.
	Labels string
	// Want leaves out objects. Nil wants all.
	Want func(*unstructured.Unstructured) bool
}

// Follower follows objects.
type Follower struct {
	Client dynamic.Interface
	// Emit is told each line, one at a time.
	Emit func(Line)
	// Lost is told once each time that the connection is lost; following goes on by itself.
	Lost func(error)
	// Now tells the time.
	Now func() time.Time

	mu    sync.Mutex
	known map[types.UID][]fact
	lost  bool
}

// Run follows until the context ends. What is there at the start is told as it is.
func (f *Follower) Run(ctx context.Context, subjects ...Subject) error {
	f.reset()
	var running sync.WaitGroup
	defer running.Wait()
	for _, subject := range subjects {
		// A mistake, such as a missing permission, is told at once rather than tried for ever.
		_, err := f.Client.Resource(subject.Resource).Namespace(subject.Namespace).List(ctx, subject.options(1))
		if err != nil {
			return err
		}
	}
	for _, subject := range subjects {
		informer := dynamicinformer.NewFilteredDynamicInformer(f.Client, subject.Resource, subject.Namespace, 0, cache.Indexers{},
			func(options *metav1.ListOptions) {
				wanted := subject.options(0)
				options.FieldSelector, options.LabelSelector = wanted.FieldSelector, wanted.LabelSelector
			}).Informer()
		lost := func(ctx context.Context, _ *cache.Reflector, err error) { f.lose(ctx, err) }
		if err := informer.SetWatchErrorHandlerWithContext(lost); err != nil {
			return fmt.Errorf("follow %s: %w", subject.Resource.Resource, err)
		}
		if _, err := informer.AddEventHandler(f.handler(subject)); err != nil {
			return fmt.Errorf("follow %s: %w", subject.Resource.Resource, err)
		}
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	<-ctx.Done()
	return nil
}

func (f *Follower) reset() { f.known, f.lost = map[types.UID][]fact{}, false }

func (s Subject) options(limit int64) metav1.ListOptions {
	options := metav1.ListOptions{LabelSelector: s.Labels, Limit: limit}
	if s.Name != "" {
		options.FieldSelector = "metadata.name=" + s.Name
	}
	return options
}

func (f *Follower) handler(subject Subject) cache.ResourceEventHandler {
	tell := func(object any, gone bool) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		u, ok := object.(*unstructured.Unstructured)
		if ok && (subject.Want == nil || subject.Want(u)) {
			f.tell(u, gone)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tell(object, false) },
		UpdateFunc: func(_, object any) { tell(object, false) },
		DeleteFunc: func(object any) { tell(object, true) },
	}
}

// lose tells of a lost connection. That the API server ends a watch now and then is none.
func (f *Follower) lose(ctx context.Context, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost || ctx.Err() != nil || !isLoss(err) {
		return
	}
	f.lost = true
	if f.Lost != nil {
		f.Lost(err)
	}
}

// tell compares an object with what was known of it.
func (f *Follower) tell(u *unstructured.Unstructured, gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = false
	before, seen := f.known[u.GetUID()]
	line := Line{Time: f.Now(), Kind: u.GetKind(), Name: u.GetName()}
	if gone {
		delete(f.known, u.GetUID())
		line.What, line.To = "object", "gone"
		f.Emit(line)
		return
	}
	facts := factsOf(u)
	f.known[u.GetUID()] = facts
	if !seen && len(facts) == 0 {
		line.What, line.To = "object", "there"
		f.Emit(line)
	}
	was := map[string]fact{}
	for _, known := range before {
		was[known.name] = known
	}
	for _, now := range facts {
		old, told := was[now.name]
		delete(was, now.name)
		if told && old.value == now.value {
			continue
		}
		line.What, line.From, line.To, line.Detail = now.name, old.value, now.value, now.message
		f.Emit(line)
	}
	for _, known := range before {
		if _, left := was[known.name]; left {
			line.What, line.From, line.To, line.Detail = known.name, known.value, "", ""
			f.Emit(line)
		}
	}
}
