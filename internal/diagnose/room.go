package diagnose

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// room says how much of a resource there is for a pod that asks for that much.
func room(candidates []Node, name string, asked resource.Quantity) string {
	if len(candidates) == 0 {
		return ""
	}
	most := most(candidates, name, allocatable)
	switch {
	case most.IsZero():
		return ", which none of the nodes that it may use has"
	case most.Cmp(asked) < 0:
		return fmt.Sprintf(", and no node that it may use has more than %s", most.String())
	}
	freest, as := freest(candidates, name)
	if freest == nil {
		return fmt.Sprintf(", and a node that it may use has %s, which other pods hold", most.String())
	}
	free, of := freest.Free[corev1.ResourceName(name)], freest.Allocatable[corev1.ResourceName(name)]
	text := fmt.Sprintf(", and the most that is free on a node that it may use is %s of %s, on %s", free.String(), of.String(), freest.Name)
	if as > 0 {
		text += fmt.Sprintf(" and %d more", as)
	}
	return text + inAll(candidates, name, asked)
}

// inAll says how much is free on all nodes together, where more than one has some: pieces that no replica fits on add up. It also
// says where not all nodes that are large enough were looked at.
func inAll(candidates []Node, name string, asked resource.Quantity) string {
	var sum resource.Quantity
	some, large, known := 0, 0, 0
	for i := range candidates {
		has := candidates[i].Allocatable[corev1.ResourceName(name)]
		free, ok := candidates[i].Free[corev1.ResourceName(name)]
		if has.Cmp(asked) >= 0 {
			large++
			if ok {
				known++
			}
		}
		if free.Sign() > 0 {
			some++
			sum.Add(free)
		}
	}
	text := ""
	if some > 1 {
		all := sum.String()
		if strings.Contains(name, "/") { // devices are counted: 1000, and not 1k
			all = strconv.FormatInt(sum.Value(), 10)
		}
		text = fmt.Sprintf("; %s are free in all, on %d nodes", all, some)
	}
	if known < large {
		text += fmt.Sprintf(" (%d of the %d nodes that are large enough were looked at)", known, large)
	}
	return text
}

// freest is the node with the most of a resource that is free, the first by name, and how many others have as much. Nil: that is
// not known.
func freest(nodes []Node, name string) (best *Node, as int) {
	for i := range nodes {
		free, known := nodes[i].Free[corev1.ResourceName(name)]
		if !known {
			continue
		}
		if best == nil {
			best = &nodes[i]
			continue
		}
		switch order := free.Cmp(best.Free[corev1.ResourceName(name)]); {
		case order > 0:
			best, as = &nodes[i], 0
		case order == 0:
			as++
			if nodes[i].Name < best.Name {
				best = &nodes[i]
			}
		}
	}
	return best, as
}
