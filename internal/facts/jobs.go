package facts

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/volumes"
)

const (
	// jobPage is how many Jobs are read at once: each has some 5 KB, of which little is kept, and only of those that write to claims.
	jobPage = 500
	// maxJobPages is how many pages are read. In a namespace with more nothing is said of Jobs: with some of them unknown, it would not
	// be known either whether another has done the work of one that failed.
	maxJobPages = 20
)

// errTooMany says that there is more to read than it is worth.
var errTooMany = errors.New("there are too many")

type jobsKey struct{ namespace string }

// jobs gives the Jobs of a namespace that can write to claims. Nil: not known. Whoever asks while they are being read waits for that.
func (g *Gatherer) jobs(ctx context.Context, namespace string) []diagnose.Job {
	read, _, _ := g.readingJobs.Do(namespace, func() (any, error) {
		jobs, _ := remembered(ctx, g, jobsKey{namespace}, forbiddenKey{"jobs", namespace}, func() ([]diagnose.Job, error) {
			return g.readJobs(ctx, namespace)
		})
		return jobs, nil
	})
	jobs, _ := read.([]diagnose.Job)
	return jobs
}

func (g *Gatherer) readJobs(ctx context.Context, namespace string) ([]diagnose.Job, error) {
	found := []diagnose.Job{}
	next := ""
	for range maxJobPages {
		page := &batchv1.JobList{}
		if err := g.Live.List(ctx, page, client.InNamespace(namespace), client.Limit(jobPage), client.Continue(next)); err != nil {
			return nil, err
		}
		for i := range page.Items {
			if writes := volumes.WritableClaims(&page.Items[i].Spec.Template.Spec); len(writes) > 0 {
				found = append(found, slimJob(&page.Items[i], writes))
			}
		}
		if next = page.Continue; next == "" {
			return found, nil
		}
	}
	return nil, errTooMany
}

func slimJob(job *batchv1.Job, writes []string) diagnose.Job {
	slim := diagnose.Job{Name: job.Name, UID: job.UID, Writes: writes, Created: job.CreationTimestamp.Time, State: diagnose.JobUnfinished,
		ActivePods: job.Status.Active, FailedPods: job.Status.Failed}
	for i := range job.Status.Conditions {
		condition := &job.Status.Conditions[i]
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobSuspended:
			slim.State = diagnose.JobSuspended
		case batchv1.JobComplete:
			slim.State, slim.Finished = diagnose.JobComplete, condition.LastTransitionTime.Time
			return slim
		case batchv1.JobFailed:
			slim.State, slim.Finished = diagnose.JobFailed, condition.LastTransitionTime.Time
			slim.Reason, slim.Message = condition.Reason, condition.Message
			return slim
		}
	}
	return slim
}
