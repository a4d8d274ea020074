package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// preemption is where the scheduler repeats its counts for preemption, which helps nobody.
var preemption = regexp.MustCompile(`(?s)( no new claims to deallocate,)? preemption:.*`)

// insufficient is where the scheduler names a resource that no node has enough of.
var insufficient = regexp.MustCompile(`Insufficient ([A-Za-z0-9][-A-Za-z0-9_./]*[A-Za-z0-9])`)

// schedulerWords is what the scheduler says about a pod that it finds no node for.
func schedulerWords(pod *corev1.Pod) (string, bool) {
	scheduled := podCondition(pod, corev1.PodScheduled)
	if scheduled == nil || scheduled.Status != corev1.ConditionFalse || scheduled.Reason != corev1.PodReasonUnschedulable {
		return "", false
	}
	return stableFor(pod, preemption.ReplaceAllString(scheduled.Message, "")), true
}

func unschedulable(f *Facts, pod *corev1.Pod) *Finding {
	words, ok := schedulerWords(pod)
	if !ok {
		return nil
	}
	return &Finding{Message: "no node can take a replica: " + words + whatIsAsked(f, pod, words)}
}

// rolloutBlocked tells of a new pod without a node while old ones serve: nothing is down, and nothing will change.
func rolloutBlocked(f *Facts, pod *corev1.Pod) *Finding {
	words, ok := schedulerWords(pod)
	if !ok || f.Deployment == nil {
		return nil
	}
	status := f.Deployment.Status
	if status.UpdatedReplicas >= status.Replicas || status.AvailableReplicas == 0 {
		return nil
	}
	return &Finding{Message: "the old revision goes on serving, for no node can take a replica of the new one: " +
		words + whatIsAsked(f, pod, words)}
}

// whatIsAsked puts beside the scheduler's words what they leave out: how much the pod asks for, how much a node has at the most,
// and how many nodes come into question.
func whatIsAsked(f *Facts, pod *corev1.Pod, words string) string {
	var sentences []string
	candidates := f.candidates(pod)
	for _, name := range lacking(words) {
		if asked, ok := asks(pod, name); ok {
			sentences = append(sentences, fmt.Sprintf("A replica asks for %s %s", asked.String(), name)+room(candidates, name, asked))
		}
	}
	if f.Nodes != nil {
		sentences = append(sentences, f.choice(pod, len(candidates)))
	}
	if len(sentences) == 0 {
		return ""
	}
	if !strings.HasSuffix(words, ".") {
		sentences[0] = ". " + sentences[0]
	} else {
		sentences[0] = " " + sentences[0]
	}
	return strings.Join(sentences, ". ")
}

// maxTaints is how many taints are named.
const maxTaints = 3

// choice says how many nodes a pod may use, and what keeps it off the others.
func (f *Facts) choice(pod *corev1.Pod, admitted int) string {
	matched, tainted := 0, 0
	var taints []string
	for i := range f.Nodes {
		if !matches(pod, &f.Nodes[i]) {
			continue
		}
		matched++
		untolerated := untolerated(pod, &f.Nodes[i])
		if len(untolerated) > 0 {
			tainted++
		}
		for j := range untolerated {
			taints = append(taints, untolerated[j].ToString())
		}
	}
	text := fmt.Sprintf("It may use %d of %d nodes", admitted, len(f.Nodes))
	var why []string
	if what := selectionText(pod); what != "" {
		why = append(why, fmt.Sprintf("%s %d", what, matched))
	}
	if tainted > 0 {
		slices.Sort(taints)
		taints = slices.Compact(taints)
		named := strings.Join(taints[:min(len(taints), maxTaints)], ", ")
		if more := len(taints) - maxTaints; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		why = append(why, fmt.Sprintf("taints that it does not tolerate keep it off %d (%s)", tainted, named))
	}
	if len(why) > 0 {
		text += ": " + strings.Join(why, ", and ")
	}
	return text
}

// Holds is how much a pod on a node keeps from others, of each of the resources.
func Holds(pod *corev1.Pod, names []string) corev1.ResourceList {
	held := corev1.ResourceList{}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return held
	}
	for _, name := range names {
		if asked, ok := asks(pod, name); ok {
			held[corev1.ResourceName(name)] = asked
		}
	}
	return held
}

// Lacking gives the names of the nodes that would have room for a pod if nothing else were on them, and the resources that the
// scheduler finds too little of: what is free there tells more.
func Lacking(facts Facts) (nodes, resources []string) {
	for i := range facts.Pods {
		pod := &facts.Pods[i]
		words, ok := schedulerWords(pod)
		if !ok || !facts.isCurrent(pod) || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		names := lacking(words)
		resources = append(resources, names...)
		for _, node := range facts.candidates(pod) {
			if slices.ContainsFunc(names, func(name string) bool {
				asked, ok := asks(pod, name)
				has := node.Allocatable[corev1.ResourceName(name)]
				return ok && has.Cmp(asked) >= 0
			}) {
				nodes = append(nodes, node.Name)
			}
		}
	}
	slices.Sort(nodes)
	slices.Sort(resources)
	return slices.Compact(nodes), slices.Compact(resources)
}

// Hopeless says whether a pod asks for what no node that it may use has, so that no other pod could make room for it. While the
// nodes are not known, there is hope.
func Hopeless(facts Facts) bool {
	if len(facts.Nodes) == 0 {
		return false
	}
	for i := range facts.Pods {
		pod := &facts.Pods[i]
		words, ok := schedulerWords(pod)
		if !ok || !facts.isCurrent(pod) || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		candidates := facts.candidates(pod)
		if len(candidates) == 0 {
			return true
		}
		for _, name := range lacking(words) {
			if asked, ok := asks(pod, name); ok && asked.Cmp(most(candidates, name, allocatable)) > 0 {
				return true
			}
		}
	}
	return false
}

// candidates are the nodes that a pod may use.
func (f *Facts) candidates(pod *corev1.Pod) []Node {
	return slices.DeleteFunc(slices.Clone(f.Nodes), func(node Node) bool { return !admits(pod, &node) })
}

// lacking names the resources that the scheduler finds too little of, sorted.
func lacking(words string) []string {
	var names []string
	for _, match := range insufficient.FindAllStringSubmatch(words, -1) {
		names = append(names, match[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// asks is how much of a resource a pod asks for, as the scheduler counts: the containers together with the sidecars, or an init
// container with the sidecars that were started before it, and the overhead of the runtime.
func asks(pod *corev1.Pod, name string) (resource.Quantity, bool) {
	var sum, most, sidecars resource.Quantity
	asked := false
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		one, ok := request(container, name)
		asked = asked || ok
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars.Add(one)
			continue
		}
		one.Add(sidecars)
		if one.Cmp(most) > 0 {
			most = one
		}
	}
	for i := range pod.Spec.Containers {
		one, ok := request(&pod.Spec.Containers[i], name)
		asked = asked || ok
		sum.Add(one)
	}
	sum.Add(sidecars)
	if most.Cmp(sum) > 0 {
		sum = most
	}
	if overhead, ok := pod.Spec.Overhead[corev1.ResourceName(name)]; ok {
		asked = true
		sum.Add(overhead)
	}
	return sum, asked
}

func request(container *corev1.Container, name string) (resource.Quantity, bool) {
	if one, ok := container.Resources.Requests[corev1.ResourceName(name)]; ok {
		return one, true
	}
	one, ok := container.Resources.Limits[corev1.ResourceName(name)]
	return one, ok
}

func allocatable(node *Node) corev1.ResourceList { return node.Allocatable }

func capacity(node *Node) corev1.ResourceList { return node.Capacity }

// most is the most of a resource that any one node has.
func most(nodes []Node, name string, of func(*Node) corev1.ResourceList) resource.Quantity {
	var best resource.Quantity
	for i := range nodes {
		if one := of(&nodes[i])[corev1.ResourceName(name)]; one.Cmp(best) > 0 {
			best = one
		}
	}
	return best
}

// brokenAccelerators tells of nodes that have the accelerators, of which the device plugin hands out none, or too few.
func brokenAccelerators(f *Facts, pod *corev1.Pod) *Finding {
	words, ok := schedulerWords(pod)
	if !ok {
		return nil
	}
	candidates := f.candidates(pod)
	for _, name := range lacking(words) {
		asked, ok := asks(pod, name)
		healthy, built := most(candidates, name, allocatable), most(candidates, name, capacity)
		if !ok || !strings.Contains(name, "/") || healthy.Cmp(asked) >= 0 || built.Cmp(asked) < 0 {
			continue
		}
		return &Finding{Message: fmt.Sprintf(
			"a replica asks for %s %s: a node has %s, and its device plugin reports %s of them as healthy at the most",
			asked.String(), name, built.String(), healthy.String())}
	}
	return nil
}

// claimWords are the scheduler's for a pod that waits for a volume.
var claimWords = regexp.MustCompile(`(?i)persistentvolumeclaim|available persistent volumes to bind|non-existent persistentvolume`)

// volumeNotBound tells of a claim that keeps the scheduler from placing the pod.
func volumeNotBound(f *Facts, pod *corev1.Pod) *Finding {
	words, ok := schedulerWords(pod)
	if !ok || !claimWords.MatchString(words) {
		return nil
	}
	for _, name := range claimsOf(&pod.Spec) {
		claim, known := f.Claims[name]
		object := Object{"PersistentVolumeClaim", name}
		switch {
		case !known || claim.Phase == corev1.ClaimBound:
		case claim.Missing:
			return &Finding{Message: fmt.Sprintf("the claim %q that holds what the pods mount does not exist", name), Object: object}
		default:
			words := provisionerWords(f, &claim)
			return &Finding{Message: fmt.Sprintf("the claim %q has no volume (it is %s)%s", name, claim.Phase, words), Object: object}
		}
	}
	return &Finding{Message: "a claim that the pods mount has no volume: " + words}
}

// provisionerWords is what is said about a claim that has no volume.
func provisionerWords(f *Facts, claim *Claim) string {
	if event := latest(f.Events[claim.UID], "ProvisioningFailed", "FailedBinding"); event != nil {
		return ": " + stable(event.Message)
	}
	if claim.StorageClass == "" {
		return ": it names no storage class, and no volume fits it"
	}
	return fmt.Sprintf(": the storage class %q has provided none yet", claim.StorageClass)
}

// claimsOf names the claims that a pod mounts, sorted.
func claimsOf(pod *corev1.PodSpec) []string {
	var names []string
	for i := range pod.Volumes {
		if claim := pod.Volumes[i].PersistentVolumeClaim; claim != nil {
			names = append(names, claim.ClaimName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// latest is the last event of one of the reasons. Of several at one time, which have whole seconds, it is the first by its words.
func latest(events []Event, reasons ...string) *Event {
	var last *Event
	for i := range events {
		event := &events[i]
		if !slices.Contains(reasons, event.Reason) {
			continue
		}
		if last == nil || event.Last.After(last.Last) || (event.Last.Equal(last.Last) && event.Message < last.Message) {
			last = event
		}
	}
	return last
}
