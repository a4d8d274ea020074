package why

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
)

// maxJobs is how many Jobs are told of a claim, the latest.
const maxJobs = 3

// fillers adds to the claims below a part the Jobs that can write to them and have not finished, or have failed: a server may wait
// for what these bring. That they are what it waits for is not known, so none is ever the cause.
func (t *Teller) fillers(ctx context.Context, parent *Part, namespace string) error {
	claims := slices.DeleteFunc(slices.Clone(parent.Parts), func(part *Part) bool {
		return part.Kind != "PersistentVolumeClaim" || part.State == "missing"
	})
	if len(claims) == 0 {
		return nil
	}
	jobs := &batchv1.JobList{}
	err := t.Reader.List(ctx, jobs, client.InNamespace(namespace))
	if apierrors.IsForbidden(err) {
		parent.note("you may not list Jobs in this namespace, so those that fill a claim are not told")
		return nil
	}
	if err != nil {
		return err
	}
	slices.SortStableFunc(jobs.Items, func(a, b batchv1.Job) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	for _, claim := range claims {
		finished := false
		for i := range jobs.Items {
			job := &jobs.Items[i]
			if len(claim.Parts) == maxJobs || !fills(&job.Spec.Template.Spec, claim.Name) {
				continue
			}
			part := jobPart(job)
			// One that failed before another did the work says nothing any more.
			if finished = finished || part == nil; part != nil && (part.Health != Broken || !finished) {
				claim.add(part)
			}
		}
	}
	return nil
}

// jobPart tells of a Job. Nil: it is complete.
func jobPart(job *batchv1.Job) *Part {
	part := &Part{Kind: "Job", Name: job.Name, uid: string(job.UID), Health: Waiting,
		State: fmt.Sprintf("not finished, %d of its pods active", job.Status.Active)}
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			return nil
		case batchv1.JobFailed:
			part.Health, part.State = Broken, "failed: "+condition.Reason
			part.note(output.OneLine(condition.Message))
		case batchv1.JobSuspended:
			part.State = "suspended"
		}
	}
	if part.Health == Waiting && job.Status.Failed > 0 {
		part.note(fmt.Sprintf("%d of its pods failed", job.Status.Failed))
	}
	return part
}

// fills says whether pods can write to a claim.
func fills(pod *corev1.PodSpec, claim string) bool {
	for i := range pod.Volumes {
		source := pod.Volumes[i].PersistentVolumeClaim
		if source == nil || source.ClaimName != claim || source.ReadOnly {
			continue
		}
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			if slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == pod.Volumes[i].Name && !m.ReadOnly }) {
				return true
			}
		}
	}
	return false
}
