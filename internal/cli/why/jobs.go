package why

import (
	"fmt"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// maxJobs is how many Jobs are told of a claim, the latest.
const maxJobs = 3

// fillers adds to the claims below a part the Jobs that can write to them and have not finished, or have failed: a server may wait
// for what these bring. That they are what it waits for is not known, so none is ever the cause.
func fillers(parent *Part, known *diagnose.Facts) {
	asked := false
	for _, claim := range parent.Parts {
		if claim.Kind != "PersistentVolumeClaim" || claim.State == "missing" {
			continue
		}
		asked = true
		for i, job := range known.Filling(claim.Name) {
			if i < maxJobs {
				claim.add(jobPart(&job))
			}
		}
	}
	if asked && known.Jobs == nil {
		parent.note("the Jobs of this namespace cannot be listed, so those that fill a claim are not told: you may not, or there are too many")
	}
}

func jobPart(job *diagnose.Job) *Part {
	part := &Part{Kind: "Job", Name: job.Name, uid: string(job.UID), Health: Waiting}
	switch job.State {
	case diagnose.JobFailed:
		part.Health, part.State = Broken, "failed: "+job.Reason
		part.note(output.OneLine(job.Message))
		return part
	case diagnose.JobSuspended:
		part.State = "suspended"
	default:
		part.State = fmt.Sprintf("not finished, %d of its pods active", job.ActivePods)
	}
	if job.FailedPods > 0 {
		part.note(fmt.Sprintf("%d of its pods failed", job.FailedPods))
	}
	return part
}
