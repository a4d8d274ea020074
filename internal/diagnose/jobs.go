package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ClaimNames names the claims that the pods of the Deployment's current spec mount, sorted.
func (f *Facts) ClaimNames() []string {
	if f.Deployment == nil {
		return nil
	}
	return claimsOf(&f.Deployment.Spec.Template.Spec)
}

// Filling gives the Jobs that can write to a claim and say something about what is in it, the latest first: those that have not
// finished, and those that failed, unless another one was complete, or was made, after that.
func (f *Facts) Filling(claim string) []Job {
	var all, telling []Job
	for _, job := range f.Jobs {
		if slices.Contains(job.Writes, claim) {
			all = append(all, job)
		}
	}
	for _, job := range all {
		overtaken := func(other Job) bool {
			return (other.State == JobComplete && !other.Finished.Before(job.Finished)) || other.Created.After(job.Finished)
		}
		if job.State == JobComplete || (job.State == JobFailed && slices.ContainsFunc(all, overtaken)) {
			continue
		}
		telling = append(telling, job)
	}
	slices.SortFunc(telling, func(a, b Job) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name))
	})
	return telling
}

// filling makes a detector of Jobs in one of the states that can write to what the pods mount, while pods are in a trouble that missing
// files make. That the pods wait for the Job is not known, so none keeps anything from being up.
func filling(reason string, of ...JobState) func(*Facts) *Finding {
	return func(f *Facts) *Finding {
		if len(f.Jobs) == 0 || !slices.ContainsFunc(f.Pods, func(pod corev1.Pod) bool { return f.mayLackFiles(&pod) }) {
			return nil
		}
		for _, claim := range f.ClaimNames() {
			for _, job := range f.Filling(claim) {
				if slices.Contains(of, job.State) {
					message := fmt.Sprintf("the Job %q, which can write to the claim %q, %s", job.Name, claim, outcome(&job))
					return &Finding{Reason: reason, Message: message, Object: Object{"Job", job.Name}}
				}
			}
		}
		return nil
	}
}

// outcome says what became of a Job, without what moves.
func outcome(job *Job) string {
	switch job.State {
	case JobFailed:
		// The controller of Jobs may name the pod, and that is gone before long.
		pod := regexp.MustCompile(`\b` + regexp.QuoteMeta(job.Name) + `-[a-z0-9-]+`)
		words := "failed (" + job.Reason + ")"
		if message := stable(pod.ReplaceAllString(job.Message, "...")); message != "" {
			words += ": " + message
		}
		return words
	case JobSuspended:
		return "is suspended"
	}
	return "has not finished"
}

// mayLackFiles says whether a pod has for a while been in a trouble that missing files make.
func (f *Facts) mayLackFiles(pod *corev1.Pod) bool {
	since, failing := f.failsAtWork(pod)
	return failing && f.lasted(since, Patience)
}

// failsAtWork says of a pod that is not up since when one of its containers has been ending, or has been running without getting on.
// Without the files that they read they do either. What keeps containers from being started at all is another trouble. Of a container
// that ends it is the age of the pod that counts: how long its last run took changes with each.
func (f *Facts) failsAtWork(pod *corev1.Pod) (since time.Time, failing bool) {
	over := !pod.DeletionTimestamp.IsZero() || pod.Status.Phase == corev1.PodFailed
	if over || !f.isCurrent(pod) || podConditionHolds(pod, corev1.PodReady) {
		return time.Time{}, false
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			c := newContainer(f, pod, &statuses[i])
			if ended := c.ended(); ended != nil {
				if ended.Reason != "OOMKilled" {
					return pod.CreationTimestamp.Time, true
				}
				continue
			}
			if started, starting := startingSince(c); starting {
				if f.lasted(started, startupBudget(c.spec)/2) {
					return started, true
				}
				continue
			}
			if unready, ok := unreadySince(c); ok {
				return unready, true
			}
		}
	}
	return time.Time{}, false
}
