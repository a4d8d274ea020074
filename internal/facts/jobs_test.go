package facts

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// job is one whose pods write to the claim, unless that is empty.
func job(name, claim string, conditions ...batchv1.JobCondition) batchv1.Job {
	volume := corev1.Volume{Name: "to"}
	if claim != "" {
		volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}
	}
	return batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "fetch", VolumeMounts: []corev1.VolumeMount{{Name: "to"}}}}, Volumes: []corev1.Volume{volume}}}},
		Status: batchv1.JobStatus{Active: 1, Failed: 2, Conditions: conditions},
	}
}

func TestJobs(t *testing.T) {
	ended := metav1.NewTime(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC))
	condition := func(kind batchv1.JobConditionType, status corev1.ConditionStatus) batchv1.JobCondition {
		return batchv1.JobCondition{Type: kind, Status: status, LastTransitionTime: ended, Reason: "Why", Message: "words"}
	}
	jobs := []batchv1.Job{
		job("complete", "weights", condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue), condition(batchv1.JobComplete, corev1.ConditionTrue)),
		job("elsewhere", ""),
		job("failed", "weights", condition(batchv1.JobSuspended, corev1.ConditionFalse), condition(batchv1.JobFailed, corev1.ConditionTrue)),
		job("going-on", "others"),
		job("suspended", "weights", condition(batchv1.JobSuspended, corev1.ConditionTrue)),
	}
	other := job("in-another-namespace", "weights")
	other.Namespace = "team-b"
	objects := []client.Object{&other}
	for i := range jobs {
		objects = append(objects, &jobs[i])
	}
	s := newStore(objects...)
	slim := func(name, claim string, state diagnose.JobState) diagnose.Job {
		return diagnose.Job{Name: name, Writes: []string{claim}, State: state, ActivePods: 1, FailedPods: 2}
	}
	complete, failed := slim("complete", "weights", diagnose.JobComplete), slim("failed", "weights", diagnose.JobFailed)
	complete.Finished, failed.Finished, failed.Reason, failed.Message = ended.Time, ended.Time, "Why", "words"
	want := []diagnose.Job{complete, failed, slim("going-on", "others", diagnose.JobUnfinished), slim("suspended", "weights", diagnose.JobSuspended)}
	var facts diagnose.Facts
	s.Complete(t.Context(), namespace, &facts, diagnose.Needs{Jobs: true})
	for i := range facts.Jobs {
		facts.Jobs[i].Finished = facts.Jobs[i].Finished.UTC()
	}
	if diff := cmp.Diff(want, facts.Jobs); diff != "" {
		t.Errorf("Jobs (-want +got):\n%s", diff)
	}
	// All objects of the namespace share them; another namespace has its own, and what does not need them reads none.
	for _, step := range []struct {
		namespace string
		needs     diagnose.Needs
		wantReads int
	}{
		{namespace, diagnose.Needs{Jobs: true}, 0}, {"team-c", diagnose.Needs{Jobs: true}, 1}, {"team-d", diagnose.Needs{}, 0},
	} {
		s.reads = 0
		var facts diagnose.Facts
		s.Complete(t.Context(), step.namespace, &facts, step.needs)
		if s.reads != step.wantReads || (facts.Jobs == nil) == step.needs.Jobs {
			t.Errorf("%s: %d reads, want %d; Jobs = %v", step.namespace, s.reads, step.wantReads, facts.Jobs)
		}
	}
}

// paged answers with that many pages of Jobs, and counts how often it is asked.
func paged(t *testing.T, pages int, asked *int) client.Reader {
	t.Helper()
	return interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			options := (&client.ListOptions{}).ApplyOptions(opts)
			if options.Limit != jobPage || options.Namespace != namespace || (options.Continue == "") != (*asked%pages == 0) {
				t.Errorf("request %d is %+v", *asked, options)
			}
			jobs, ok := list.(*batchv1.JobList)
			if !ok {
				t.Fatalf("a %T is asked for", list)
			}
			*asked++
			jobs.Items = []batchv1.Job{job(fmt.Sprint(*asked), "weights"), job("elsewhere", "")}
			if *asked%pages != 0 {
				jobs.Continue = "next"
			}
			return nil
		},
	})
}

func TestManyJobsAreReadPageByPageAndNoMoreThanAreWorthIt(t *testing.T) {
	for name, tc := range map[string]struct {
		pages, wantAsked, wantJobs int
	}{
		"one page":        {1, 1, 1},
		"three":           {3, 3, 3},
		"as many as may":  {maxJobPages, maxJobPages, maxJobPages},
		"more, at no end": {maxJobPages + 1, maxJobPages, 0},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			g := New(nil, paged(t, tc.pages, &asked))
			for range 2 { // what was read, or was too much, is remembered
				var facts diagnose.Facts
				g.Complete(t.Context(), namespace, &facts, diagnose.Needs{Jobs: true})
				if len(facts.Jobs) != tc.wantJobs || (tc.wantJobs == 0) != (facts.Jobs == nil) || asked != tc.wantAsked {
					t.Errorf("%d Jobs after %d requests, want %d after %d", len(facts.Jobs), asked, tc.wantJobs, tc.wantAsked)
				}
			}
		})
	}
}

func TestManyWhoAskForJobsAtOnceCostOneRead(t *testing.T) {
	asked := 0
	g := New(nil, paged(t, 3, &asked))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			var facts diagnose.Facts
			g.Complete(t.Context(), namespace, &facts, diagnose.Needs{Jobs: true})
			if len(facts.Jobs) != 3 {
				t.Errorf("%d Jobs", len(facts.Jobs))
			}
		})
	}
	all.Wait()
	if asked != 3 {
		t.Errorf("%d requests, want the 3 pages once", asked)
	}
}
