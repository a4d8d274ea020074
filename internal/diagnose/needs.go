package diagnose

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxEvents bounds for how many pods events are asked for in one pass.
	maxEvents = 3
	// longestLook is how long, at the most, until something that nobody tells of is looked at again.
	longestLook = 5 * time.Minute
)

// Needs is what would make a diagnosis say more. All of it has to be read past a cache; a healthy object needs none of it.
type Needs struct {
	// EventsOf are UIDs of pods.
	EventsOf []types.UID
	// Claims are names of claims.
	Claims []string
	// Nodes says that the nodes would help.
	Nodes bool
	// Jobs says that those of the namespace would help.
	Jobs bool
	// Again is when to look again because time alone, or an event, may change the answer. Zero: never.
	Again time.Duration
}

// NeedsOf says what else to find out for a diagnosis of these facts. It asks for little at a time: the pods of one revision mostly
// share their cause.
func NeedsOf(facts Facts) Needs {
	var needs Needs
	var asked []*corev1.Pod
	for i := range facts.Pods {
		pod := &facts.Pods[i]
		if !facts.isCurrent(pod) || !pod.DeletionTimestamp.IsZero() || podConditionHolds(pod, corev1.PodReady) {
			continue
		}
		if _, ok := schedulerWords(pod); ok {
			needs.Nodes = true
			needs.Claims = append(needs.Claims, claimsWanted(pod)...)
			continue
		}
		wantEvents, again := facts.look(pod)
		if wantEvents {
			asked = append(asked, pod)
		}
		if leftBehind(pod) || (wantEvents && again > 2*time.Minute) {
			needs.Nodes = true
		}
		needs.Again = sooner(needs.Again, again)
	}
	if len(facts.ClaimNames()) > 0 {
		facts.needJobs(&needs)
	}
	slices.SortFunc(asked, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for _, pod := range asked[:min(len(asked), maxEvents)] {
		needs.EventsOf = append(needs.EventsOf, pod.UID)
	}
	slices.Sort(needs.Claims)
	needs.Claims = slices.Compact(needs.Claims)
	return needs
}

// sooner is the shorter of two times after which to look again. Zero: none.
func sooner(one, other time.Duration) time.Duration {
	if one == 0 || other == 0 {
		return max(one, other)
	}
	return min(one, other)
}

// needJobs adds the Jobs to what is needed, if pods are in a trouble that missing files make. Nobody tells of a Job, nor of a container
// that ends once more as it did before, so that both are looked at again.
func (f *Facts) needJobs(needs *Needs) {
	for i := range f.Pods {
		if since, failing := f.failsAtWork(&f.Pods[i]); failing {
			needs.Jobs = needs.Jobs || f.lasted(since, Patience)
			needs.Again = sooner(needs.Again, f.growing(since))
		}
	}
}

// nodeCount is where the scheduler says how many nodes there are.
var nodeCount = regexp.MustCompile(`^0/(\d+) nodes are available`)

// NodesChanged says whether pods speak of other nodes than those that are known: then these were read too long ago.
func NodesChanged(facts Facts) bool {
	if facts.Nodes == nil {
		return false
	}
	for i := range facts.Pods {
		pod := &facts.Pods[i]
		if !facts.isCurrent(pod) {
			continue
		}
		words, _ := schedulerWords(pod)
		if count := nodeCount.FindStringSubmatch(words); len(count) == 2 && count[1] != strconv.Itoa(len(facts.Nodes)) {
			return true
		}
		if leftBehind(pod) && !slices.ContainsFunc(facts.Nodes, func(node Node) bool { return node.Name == pod.Spec.NodeName }) {
			return true
		}
	}
	return false
}

func claimsWanted(pod *corev1.Pod) []string {
	if words, _ := schedulerWords(pod); claimWords.MatchString(words) {
		return claimsOf(&pod.Spec)
	}
	return nil
}

// growing is an interval that grows with the time that something has lasted.
func (f *Facts) growing(since time.Time) time.Duration {
	return min(max(f.Now.Sub(since), Patience), longestLook)
}

// look says of a pod that has a node whether its events may tell more than its status, and when to look again.
func (f *Facts) look(pod *corev1.Pod) (events bool, again time.Duration) {
	// What nobody tells of is looked at after a while, and then at growing intervals.
	wait := func(since time.Time) {
		if f.lasted(since, Patience) {
			events = true
		}
		again = sooner(again, f.growing(since))
	}
	if since, waiting := waitsOnNode(pod); waiting {
		wait(since)
		return events, again
	}
	for i := range pod.Status.ContainerStatuses {
		c := newContainer(f, pod, &pod.Status.ContainerStatuses[i])
		if ended := c.ended(); ended != nil {
			if ended.Reason != "OOMKilled" && (c.spec.LivenessProbe != nil || c.spec.StartupProbe != nil) {
				events = true
				// The event that says who killed it may come after the status.
				if !f.lasted(ended.FinishedAt.Time, Patience) {
					again = sooner(again, Patience)
				}
			}
			continue
		}
		if started, starting := startingSince(c); starting {
			half := startupBudget(c.spec) / 2
			if f.lasted(started, half) {
				wait(started)
			} else {
				again = sooner(again, half-f.Now.Sub(started)+time.Second)
			}
			continue
		}
		if since, unready := unreadySince(c); unready {
			wait(since)
		}
	}
	return events, again
}
