// Package facts gathers what a diagnosis is made from. Pods and children come from the cache. Events, claims, Jobs and
// nodes are read past it, because few objects ever need them: only for pods that have been in trouble for a while, a few at a time,
// and with what was read remembered for a moment. It judges nothing, and writes nothing.
package facts

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
)

// RevisionAnnotation is where the Deployment controller counts revisions, on the Deployment and on its ReplicaSets.
const RevisionAnnotation = "deployment.kubernetes.io/revision"

const (
	// rememberFor is how long something that was read past the cache is good for.
	rememberFor = 15 * time.Second
	// justNow is how old what was read may be when pods speak of something newer.
	justNow = time.Second
	// forbiddenFor is how long it takes until something that may not be read is asked for again.
	forbiddenFor = 10 * time.Minute
)

// Gatherer gathers facts. It is safe for concurrent use.
type Gatherer struct {
	// Cached reads pods by index.PodOwner, and the metadata of ReplicaSets.
	Cached client.Reader
	// Live reads events, claims, Jobs and nodes. Whatever it may not read is left out.
	Live client.Reader
	// Now is the clock.
	Now func() time.Time

	known *cache.Expiring

	// reading lets one at a time read the nodes, so that the others find them known.
	reading sync.Mutex
	// readingJobs lets one at a time read the Jobs of a namespace, for all who ask.
	readingJobs singleflight.Group
}

// New makes a Gatherer.
func New(cached, live client.Reader) *Gatherer {
	return &Gatherer{Cached: cached, Live: live, Now: time.Now, known: cache.NewExpiring()}
}

// Pods gives the facts about a Deployment that the cache has: its pods, as those of the object of that kind and name, and
// which of them are current. It does not copy the pods, which must not be changed.
func (g *Gatherer) Pods(ctx context.Context, kind, name string, deployment *appsv1.Deployment) (diagnose.Facts, error) {
	facts := diagnose.Facts{Now: g.Now(), Deployment: deployment}
	pods := &corev1.PodList{}
	err := g.Cached.List(ctx, pods, client.InNamespace(deployment.Namespace),
		client.MatchingFields{index.PodOwner: index.PodOwnerKey(kind, name)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return facts, fmt.Errorf("list pods: %w", err)
	}
	facts.Pods = pods.Items
	facts.Revision, err = g.revision(ctx, deployment)
	return facts, err
}

// notCachedYet is the revision of no pod. The cache may not have seen a ReplicaSet that was created a moment ago, and
// then it has seen none of its pods either.
const notCachedYet = "-"

// revision is the hash that the pods of the Deployment's current revision carry. Empty while there is none.
func (g *Gatherer) revision(ctx context.Context, deployment *appsv1.Deployment) (string, error) {
	current := Revision(deployment)
	if current == 0 || deployment.Spec.Selector == nil {
		return "", nil
	}
	sets := &metav1.PartialObjectMetadataList{}
	sets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	if err := g.Cached.List(ctx, sets, client.InNamespace(deployment.Namespace),
		client.MatchingLabels(deployment.Spec.Selector.MatchLabels)); err != nil {
		return "", fmt.Errorf("list ReplicaSets: %w", err)
	}
	if hash := CurrentHash(deployment, sets.Items); hash != "" {
		return hash, nil
	}
	return notCachedYet, nil
}

// CurrentHash is the hash that the pods of the Deployment's current revision carry, by its ReplicaSets. Empty: not known.
func CurrentHash[Set any, Object interface {
	*Set
	metav1.Object
}](deployment *appsv1.Deployment, sets []Set) string {
	current := Revision(deployment)
	for i := range sets {
		if set := Object(&sets[i]); current != 0 && metav1.IsControlledBy(set, deployment) && Revision(set) == current {
			return set.GetLabels()[diagnose.TemplateHash]
		}
	}
	return ""
}

// Revision is the number of the revision that a Deployment or a ReplicaSet is at. Zero: not known yet.
func Revision(of metav1.Object) int64 {
	number, err := strconv.ParseInt(of.GetAnnotations()[RevisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// Complete adds to the facts what they need and the cache does not have. What cannot be read is left out: a diagnosis then says
// less.
func (g *Gatherer) Complete(ctx context.Context, namespace string, facts *diagnose.Facts, needs diagnose.Needs) {
	events := map[types.UID][]diagnose.Event{}
	for i := range facts.Pods {
		pod := &facts.Pods[i]
		for _, uid := range needs.EventsOf {
			if pod.UID == uid {
				events[uid] = g.events(ctx, namespace, uid, pod.ResourceVersion)
			}
		}
	}
	claims := map[string]diagnose.Claim{}
	for _, name := range needs.Claims {
		if claim, ok := g.claim(ctx, namespace, name); ok {
			claims[name] = claim
			if !claim.Missing && claim.Phase != corev1.ClaimBound {
				events[claim.UID] = g.events(ctx, namespace, claim.UID, "")
			}
		}
	}
	facts.Events, facts.Claims = events, claims
	if needs.Jobs {
		facts.Jobs = g.jobs(ctx, namespace)
	}
	if needs.Nodes {
		facts.Nodes = g.nodes(ctx, rememberFor)
		if diagnose.NodesChanged(*facts) {
			facts.Nodes = g.nodes(ctx, justNow)
		}
	}
}
