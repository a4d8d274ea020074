package diagnose

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// admits says whether the pod's node selector, its required affinity and its tolerations let it onto a node. Room is another
// question.
func admits(pod *corev1.Pod, node *Node) bool {
	return matches(pod, node) && len(untolerated(pod, node)) == 0
}

// matches says whether a node is one that the pod's node selector and its required affinity ask for.
func matches(pod *corev1.Pod, node *Node) bool {
	for key, value := range pod.Spec.NodeSelector {
		if has, ok := node.Labels[key]; !ok || has != value {
			return false
		}
	}
	terms := requiredTerms(pod)
	return terms == nil || slices.ContainsFunc(terms, func(term corev1.NodeSelectorTerm) bool { return fits(&term, node) })
}

// untolerated are the taints of a node that keep a pod off it.
func untolerated(pod *corev1.Pod, node *Node) []corev1.Taint {
	var found []corev1.Taint
	for _, taint := range node.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule &&
			!slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(&t, &taint) }) {
			found = append(found, taint)
		}
	}
	return found
}

func requiredTerms(pod *corev1.Pod) []corev1.NodeSelectorTerm {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// fits says whether a node has what a term asks for. A term that asks for nothing fits no node.
func fits(term *corev1.NodeSelectorTerm, node *Node) bool {
	for i := range term.MatchExpressions {
		value, ok := node.Labels[term.MatchExpressions[i].Key]
		if !holds(&term.MatchExpressions[i], value, ok) {
			return false
		}
	}
	for i := range term.MatchFields {
		// The only field that may be asked for is metadata.name.
		if !holds(&term.MatchFields[i], node.Name, true) {
			return false
		}
	}
	return len(term.MatchExpressions)+len(term.MatchFields) > 0
}

func holds(requirement *corev1.NodeSelectorRequirement, value string, exists bool) bool {
	switch requirement.Operator {
	case corev1.NodeSelectorOpIn:
		return exists && slices.Contains(requirement.Values, value)
	case corev1.NodeSelectorOpNotIn:
		return !exists || !slices.Contains(requirement.Values, value)
	case corev1.NodeSelectorOpExists:
		return exists
	case corev1.NodeSelectorOpDoesNotExist:
		return !exists
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if !exists || len(requirement.Values) != 1 {
			return false
		}
		has, err := strconv.ParseInt(value, 10, 64)
		bound, otherErr := strconv.ParseInt(requirement.Values[0], 10, 64)
		if err != nil || otherErr != nil {
			return false
		}
		if requirement.Operator == corev1.NodeSelectorOpGt {
			return has > bound
		}
		return has < bound
	}
	return false
}

func tolerates(toleration *corev1.Toleration, taint *corev1.Taint) bool {
	if toleration.Effect != "" && toleration.Effect != taint.Effect || toleration.Key != "" && toleration.Key != taint.Key {
		return false
	}
	if toleration.Operator == corev1.TolerationOpExists {
		return true
	}
	return toleration.Value == taint.Value
}

// selectionText begins a sentence about the nodes that a pod asks for, with its node selector as a user would write it on a
// command line. Empty when it takes any.
func selectionText(pod *corev1.Pod) string {
	var pairs []string
	for key, value := range pod.Spec.NodeSelector {
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	selector := strings.Join(pairs, ",")
	switch affinity := requiredTerms(pod) != nil; {
	case selector != "" && affinity:
		return "its node selector (" + selector + ") and its affinity match"
	case selector != "":
		return "its node selector (" + selector + ") matches"
	case affinity:
		return "its affinity matches"
	}
	return ""
}
