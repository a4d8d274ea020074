// Package diagnose finds out why a model is not up: from facts about its pods and what they need it makes findings, each with
// a reason, a sentence and what to do. All reasons stand in one table; a new one is one entry of it.
//
// The same cause gives the same message on every pass and for every replica: it names no pod, counts nothing that moves,
// and quotes only what stays. The package reads nothing but what it is given.
package diagnose

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// Patience is how long something may take before it is looked into. What is read past a cache is read only then, so
	// that a healthy start costs no such read.
	Patience = 20 * time.Second
	// memory is how long a pod that is gone for good tells about the one that took its place.
	memory = 15 * time.Minute
	// maxOthers bounds a result.
	maxOthers = 16
)

// Finding is one thing that is wrong.
type Finding struct {
	// Reason is one of the reasons of package api/v1; the table has an entry for each.
	Reason string `json:"reason"`
	// Message says it in a sentence, with the words of whoever refused.
	Message string `json:"message"`
	// Object is what it is about. Of what happens to pods that is their Deployment, whose name does not change.
	Object Object `json:"object,omitzero"`
	// Container is the container that fails, if it is one.
	Container string `json:"container,omitempty"`
	// ExitCode is how that container ended last, if it did.
	ExitCode *int32 `json:"exitCode,omitempty"`
}

// Object names an object of the namespace, or a node.
type Object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Same says whether both findings tell the same, which two nil ones do.
func (f *Finding) Same(other *Finding) bool {
	if f == nil || other == nil {
		return f == other
	}
	a, b := *f, *other
	if (a.ExitCode == nil) != (b.ExitCode == nil) || (a.ExitCode != nil && *a.ExitCode != *b.ExitCode) {
		return false
	}
	a.ExitCode, b.ExitCode = nil, nil
	return a == b
}

// Result is everything that is wrong, the most telling first, and each reason once.
type Result struct {
	Findings []Finding
}

// Primary is the most telling finding of what keeps pods from being up. Behind its own message it has those of findings that may be
// the cause of it. Nil: nothing is known to.
func (r Result) Primary() *Finding {
	var primary *Finding
	behind := ""
	for _, finding := range r.Findings {
		switch entry, _ := Lookup(finding.Reason); {
		case entry.Behind:
			behind += "; " + finding.Message
		case primary == nil && !entry.Advisory:
			primary = &finding
		}
	}
	if primary != nil {
		primary.Message += behind
	}
	return primary
}

// Find gives the finding of a reason. Nil when there is none.
func (r Result) Find(reason string) *Finding {
	for i := range r.Findings {
		if r.Findings[i].Reason == reason {
			return &r.Findings[i]
		}
	}
	return nil
}

// Without leaves out the finding of a reason.
func (r Result) Without(reason string) Result {
	return Result{slices.DeleteFunc(slices.Clone(r.Findings), func(finding Finding) bool { return finding.Reason == reason })}
}

// Diagnose makes findings of facts. The order of the pods does not matter.
func Diagnose(facts Facts) Result {
	found := map[string]Finding{}
	add := func(finding *Finding) {
		if finding == nil {
			return
		}
		if finding.Object == (Object{}) && facts.Deployment != nil {
			finding.Object = Object{"Deployment", facts.Deployment.Name}
		}
		if first, ok := found[finding.Reason]; !ok || less(*finding, first) {
			found[finding.Reason] = *finding
		}
	}
	for i := range facts.Pods {
		if pod := &facts.Pods[i]; facts.isCurrent(pod) {
			for _, finding := range ofPod(&facts, pod) {
				add(&finding)
			}
		}
	}
	for i := range table {
		if table[i].workload != nil {
			add(table[i].workload(&facts))
		}
	}
	var result Result
	for i := range table {
		if finding, ok := found[table[i].Reason]; ok && len(result.Findings) < maxOthers {
			result.Findings = append(result.Findings, finding)
		}
	}
	return result
}

// less makes one of several findings of a reason the one that is told, whatever their order.
func less(a, b Finding) bool {
	if a.Message != b.Message {
		return a.Message < b.Message
	}
	return a.Object.Name < b.Object.Name
}

// Pod is the most telling finding about one pod, from nothing but itself, and without what depends on time. Nil means that
// it is ready, on its way, or leaving.
func Pod(pod *corev1.Pod) *Finding { return PodAmong(Facts{}, pod) }

// PodAmong is the most telling finding about one pod, from all that is known.
func PodAmong(facts Facts, pod *corev1.Pod) *Finding {
	var best *Finding
	for _, finding := range ofPod(&facts, pod) {
		if best == nil || rank(finding.Reason) < rank(best.Reason) {
			best = &finding
		}
	}
	return best
}

// ofPod gives one finding for each container in trouble or, when there is none, one for the pod.
func ofPod(facts *Facts, pod *corev1.Pod) []Finding {
	if !pod.DeletionTimestamp.IsZero() || podConditionHolds(pod, corev1.PodReady) {
		return nil
	}
	var found []Finding
	// What the containers of a pod that is over did last says nothing about why it is over.
	if pod.Status.Phase != corev1.PodFailed {
		for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range statuses {
				if finding := ofContainer(newContainer(facts, pod, &statuses[i])); finding != nil {
					found = append(found, *finding)
				}
			}
		}
	}
	if len(found) > 0 {
		return found
	}
	for i := range table {
		if table[i].pod == nil {
			continue
		}
		if finding := table[i].pod(facts, pod); finding != nil {
			finding.Reason = table[i].Reason
			return append(found, *finding)
		}
	}
	return nil
}

func ofContainer(c *container) *Finding {
	for i := range table {
		if table[i].container == nil {
			continue
		}
		if finding := table[i].container(c); finding != nil {
			finding.Reason, finding.Container = table[i].Reason, c.status.Name
			return finding
		}
	}
	return nil
}

// container is one container of a pod, with what was asked for under its name.
type container struct {
	facts  *Facts
	pod    *corev1.Pod
	status *corev1.ContainerStatus
	// spec is empty when the pod does not say.
	spec *corev1.Container
	init bool
}

func newContainer(facts *Facts, pod *corev1.Pod, status *corev1.ContainerStatus) *container {
	c := &container{facts: facts, pod: pod, status: status, spec: &corev1.Container{}}
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == status.Name {
			c.spec, c.init = &pod.Spec.InitContainers[i], true
		}
	}
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == status.Name {
			c.spec = &pod.Spec.Containers[i]
		}
	}
	c.init = c.init || slices.ContainsFunc(pod.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == status.Name
	})
	return c
}

// waits says why the container waits, or nothing.
func (c *container) waits() (reason, message string) {
	if waiting := c.status.State.Waiting; waiting != nil {
		return waiting.Reason, waiting.Message
	}
	return "", ""
}

// ended is how the container ended last. Nil when it never did, or did its work.
func (c *container) ended() *corev1.ContainerStateTerminated {
	ended := c.status.LastTerminationState.Terminated
	if c.status.State.Terminated != nil {
		ended = c.status.State.Terminated
	}
	if ended == nil || (c.init && ended.ExitCode == 0 && ended.Reason == "Completed") {
		return nil
	}
	return ended
}

func podConditionHolds(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	condition := podCondition(pod, kind)
	return condition != nil && condition.Status == corev1.ConditionTrue
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
