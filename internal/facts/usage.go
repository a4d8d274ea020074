package facts

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

const (
	// maxUsageNodes bounds for how many nodes pods are read.
	maxUsageNodes = 500
	// usageAtOnce is for how many at the same time.
	usageAtOnce = 16
)

// Usage adds to the nodes what is free on them, where pods find no room though the node is large enough. For each of these nodes
// it reads the pods of all namespaces, and the answer changes with each of them: that is for somebody who looks once, and not
// for a controller. Of very many nodes it looks at some from all over the list; what is free on the others stays unknown. An error
// leaves the facts as they are.
func (g *Gatherer) Usage(ctx context.Context, facts *diagnose.Facts) error {
	names, resources := diagnose.Lacking(*facts)
	held, err := g.held(ctx, spread(names, maxUsageNodes), resources)
	if err != nil {
		return err
	}
	// The nodes may be remembered, and shared with others.
	nodes := make([]diagnose.Node, len(facts.Nodes))
	copy(nodes, facts.Nodes)
	for i := range nodes {
		taken, known := held[nodes[i].Name]
		if !known {
			continue
		}
		nodes[i].Free = corev1.ResourceList{}
		for _, name := range resources {
			left := nodes[i].Allocatable[corev1.ResourceName(name)].DeepCopy()
			left.Sub(taken[corev1.ResourceName(name)])
			if left.Sign() < 0 {
				left.Set(0)
			}
			nodes[i].Free[corev1.ResourceName(name)] = left
		}
	}
	facts.Nodes = nodes
	return nil
}

// spread gives at most that many of the names, from all over the list: nodes of one pool mostly have similar names.
func spread(names []string, most int) []string {
	if len(names) <= most {
		return names
	}
	chosen := make([]string, most)
	for i := range chosen {
		chosen[i] = names[i*len(names)/most]
	}
	return chosen
}

// held sums up what the pods on each of the nodes hold of the resources.
func (g *Gatherer) held(ctx context.Context, nodes, resources []string) (map[string]corev1.ResourceList, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(usageAtOnce)
	sums := make([]corev1.ResourceList, len(nodes))
	for i, node := range nodes {
		group.Go(func() error {
			pods := &corev1.PodList{}
			// An API server finds the pods of a node without reading the others.
			if err := g.Live.List(ctx, pods, client.MatchingFields{"spec.nodeName": node}); err != nil {
				return fmt.Errorf("list the pods of node %q: %w", node, err)
			}
			sums[i] = corev1.ResourceList{}
			for j := range pods.Items {
				for resource, amount := range diagnose.Holds(&pods.Items[j], resources) {
					sum := sums[i][resource]
					sum.Add(amount)
					sums[i][resource] = sum
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	held := make(map[string]corev1.ResourceList, len(nodes))
	for i, node := range nodes {
		held[node] = sums[i]
	}
	return held, nil
}
