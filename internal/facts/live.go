package facts

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

const (
	// maxEvents bounds what is read about one object. The API server keeps events for an hour.
	maxEvents = 100
	// nodePage is how many nodes are read at once: each has some 20 KB, of which little is kept.
	nodePage = 100
)

// The keys of what is remembered.
type (
	eventsKey struct {
		uid types.UID
		// version makes a change of the object a reason to read again.
		version string
	}
	claimKey     struct{ namespace, name string }
	nodesKey     struct{}
	forbiddenKey struct{ what, namespace string }
)

// remembered gives what is known under a key, or reads it. The second result is false when it could not be read. What is forbidden, or
// too much, is left alone for longer.
func remembered[T any](ctx context.Context, g *Gatherer, key any, forbidden forbiddenKey, read func() (T, error)) (T, bool) {
	var none T
	if known, ok := g.known.Get(key); ok {
		value, ok := known.(T)
		return value, ok
	}
	if _, ok := g.known.Get(forbidden); ok {
		return none, false
	}
	value, err := read()
	switch {
	case apierrors.IsForbidden(err), errors.Is(err, errTooMany):
		log.FromContext(ctx).V(1).Info("What would tell more may not be read", "what", forbidden.what, "reason", err.Error())
		g.known.Set(forbidden, true, forbiddenFor)
		return none, false
	case err != nil:
		log.FromContext(ctx).V(1).Info("What would tell more cannot be read", "what", forbidden.what, "reason", err.Error())
		return none, false
	}
	g.known.Set(key, value, rememberFor)
	return value, true
}

func (g *Gatherer) events(ctx context.Context, namespace string, uid types.UID, version string) []diagnose.Event {
	events, _ := remembered(ctx, g, eventsKey{uid, version}, forbiddenKey{"events", namespace}, func() ([]diagnose.Event, error) {
		list := &corev1.EventList{}
		if err := g.Live.List(ctx, list, client.InNamespace(namespace),
			client.MatchingFields{"involvedObject.uid": string(uid)}, client.Limit(maxEvents)); err != nil {
			return nil, err
		}
		var found []diagnose.Event
		for i := range list.Items {
			found = append(found, slimEvent(&list.Items[i]))
		}
		return found, nil
	})
	return events
}

// slimEvent reads an event of either sort: those that are counted, and those that are a series.
func slimEvent(event *corev1.Event) diagnose.Event {
	slim := diagnose.Event{Reason: event.Reason, Message: event.Message, Count: max(event.Count, 1)}
	times := []time.Time{event.FirstTimestamp.Time, event.LastTimestamp.Time, event.EventTime.Time}
	if event.Series != nil {
		slim.Count = max(slim.Count, event.Series.Count)
		times = append(times, event.Series.LastObservedTime.Time)
	}
	for _, at := range times {
		if at.After(slim.Last) {
			slim.Last = at
		}
	}
	return slim
}

func (g *Gatherer) claim(ctx context.Context, namespace, name string) (diagnose.Claim, bool) {
	return remembered(ctx, g, claimKey{namespace, name}, forbiddenKey{"claims", namespace}, func() (diagnose.Claim, error) {
		claim := &corev1.PersistentVolumeClaim{}
		err := g.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, claim)
		if apierrors.IsNotFound(err) {
			return diagnose.Claim{Missing: true}, nil
		}
		if err != nil {
			return diagnose.Claim{}, err
		}
		slim := diagnose.Claim{UID: claim.UID, Phase: claim.Status.Phase}
		if claim.Spec.StorageClassName != nil {
			slim.StorageClass = *claim.Spec.StorageClassName
		}
		return slim, nil
	})
}

// nodeList is all nodes, and when they were read.
type nodeList struct {
	nodes []diagnose.Node
	read  time.Time
}

// nodes gives all nodes, as they were at most that long ago. Nil: not known.
func (g *Gatherer) nodes(ctx context.Context, atMost time.Duration) []diagnose.Node {
	g.reading.Lock()
	defer g.reading.Unlock()
	if known, ok := g.known.Get(nodesKey{}); ok {
		if list, ok := known.(nodeList); ok && g.Now().Sub(list.read) > atMost {
			g.known.Delete(nodesKey{})
		}
	}
	list, _ := remembered(ctx, g, nodesKey{}, forbiddenKey{what: "nodes"}, func() (nodeList, error) {
		nodes, err := g.readNodes(ctx)
		return nodeList{nodes, g.Now()}, err
	})
	return list.nodes
}

// readNodes reads all nodes, page by page.
func (g *Gatherer) readNodes(ctx context.Context) ([]diagnose.Node, error) {
	found := []diagnose.Node{}
	for next := ""; ; {
		page := &corev1.NodeList{}
		if err := g.Live.List(ctx, page, client.Limit(nodePage), client.Continue(next)); err != nil {
			return nil, err
		}
		for i := range page.Items {
			found = append(found, slimNode(&page.Items[i]))
		}
		if next = page.Continue; next == "" {
			return found, nil
		}
	}
}

func slimNode(node *corev1.Node) diagnose.Node {
	slim := diagnose.Node{Name: node.Name, Labels: node.Labels, Taints: node.Spec.Taints,
		Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			slim.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	return slim
}
