package facts

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// maxUsageNodes bounds for how many nodes pods are read.
const maxUsageNodes = 100

// Usage adds to the nodes what is free on them, where pods find no room though the node is large enough. For each of these nodes
// it reads the pods of all namespaces, and the answer changes with each of them: that is for somebody who looks once, and not
// for a controller. An error leaves the facts as they are.
func (g *Gatherer) Usage(ctx context.Context, facts *diagnose.Facts) error {
	names, resources := diagnose.Lacking(*facts)
	if len(names) > maxUsageNodes {
		return fmt.Errorf("%d nodes are large enough, and what is free is looked up on at most %d", len(names), maxUsageNodes)
	}
	free := map[string]corev1.ResourceList{}
	for _, name := range names {
		pods := &corev1.PodList{}
		// An API server finds the pods of a node without reading the others.
		if err := g.Live.List(ctx, pods, client.MatchingFields{"spec.nodeName": name}); err != nil {
			return fmt.Errorf("list the pods of node %q: %w", name, err)
		}
		held := corev1.ResourceList{}
		for i := range pods.Items {
			for resource, amount := range diagnose.Holds(&pods.Items[i], resources) {
				sum := held[resource]
				sum.Add(amount)
				held[resource] = sum
			}
		}
		free[name] = held
	}
	// The nodes may be remembered, and shared with others.
	nodes := make([]diagnose.Node, len(facts.Nodes))
	copy(nodes, facts.Nodes)
	for i := range nodes {
		held, known := free[nodes[i].Name]
		if !known {
			continue
		}
		nodes[i].Free = corev1.ResourceList{}
		for _, name := range resources {
			left := nodes[i].Allocatable[corev1.ResourceName(name)].DeepCopy()
			left.Sub(held[corev1.ResourceName(name)])
			if left.Sign() < 0 {
				left.Set(0)
			}
			nodes[i].Free[corev1.ResourceName(name)] = left
		}
	}
	facts.Nodes = nodes
	return nil
}
