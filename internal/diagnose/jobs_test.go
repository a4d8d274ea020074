package diagnose

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJobsThatSaySomethingOfAClaim(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 10, minute, 0, 0, time.UTC) }
	job := func(name string, state JobState, created, finished int) Job {
		return Job{Name: name, Writes: []string{"weights"}, State: state, Created: at(created), Finished: at(finished)}
	}
	for name, tc := range map[string]struct {
		jobs []Job
		want []string
	}{
		"none":                                   {nil, nil},
		"one that is complete":                   {[]Job{job("a", JobComplete, 0, 1)}, nil},
		"one that failed":                        {[]Job{job("a", JobFailed, 0, 1)}, []string{"a"}},
		"one that failed before another's end":   {[]Job{job("a", JobFailed, 0, 1), job("b", JobComplete, 0, 2)}, nil},
		"one that failed after another's end":    {[]Job{job("a", JobFailed, 1, 3), job("b", JobComplete, 0, 2)}, []string{"a"}},
		"one that was made again":                {[]Job{job("a", JobFailed, 0, 1), {Name: "b", Writes: []string{"weights"}, State: JobUnfinished, Created: at(2)}}, []string{"b"}},
		"one that failed once more":              {[]Job{job("a", JobFailed, 0, 1), job("b", JobFailed, 2, 3)}, []string{"b"}},
		"two at once":                            {[]Job{job("b", JobFailed, 0, 3), job("a", JobFailed, 0, 2)}, []string{"a", "b"}},
		"one beside a suspended one":             {[]Job{job("a", JobFailed, 0, 3), job("b", JobSuspended, 1, 0)}, []string{"b", "a"}},
		"one that goes on after another's end":   {[]Job{job("a", JobUnfinished, 0, 0), job("b", JobComplete, 1, 2)}, []string{"a"}},
		"one that fails in the second of an end": {[]Job{job("a", JobFailed, 0, 2), job("b", JobComplete, 0, 2)}, nil},
		"one that writes elsewhere":              {[]Job{{Name: "a", Writes: []string{"others"}, State: JobUnfinished}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				var got []string
				for _, job := range (&Facts{Jobs: tc.jobs}).Filling("weights") {
					got = append(got, job.Name)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("Jobs (-want +got):\n%s", diff)
				}
				slices.Reverse(tc.jobs) // whatever their order
			}
		})
	}
}

func TestAJobStandsBehindWhatIsWrongWithThePods(t *testing.T) {
	cases := factsCases(t)
	for name, want := range map[string]string{
		"a server finds no weights, and the Job that brings them runs": `container "server" ended with exit code 1: no such file; ` +
			`the Job "fetch", which can write to the claim "weights", has not finished`,
		"a server finds no weights, and another Job has brought them since": `container "server" ended with exit code 1: no such file`,
	} {
		facts := cases[name].facts()
		if len(facts.Pods) == 0 {
			t.Fatalf("no case %q", name)
		}
		result := Diagnose(facts)
		for range 2 { // asking changes nothing
			if got := result.Primary(); got == nil || got.Message != want || got.Object.Kind != "Deployment" || got.ExitCode == nil {
				t.Errorf("%s: primary = %+v, want %q", name, got, want)
			}
		}
	}
}

func TestTheMessageOfAJobDoesNotMove(t *testing.T) {
	facts := factsCases(t)["a server finds no weights, and the Job that brings them runs"].facts()
	want := Diagnose(facts).Primary()
	facts.Now = facts.Now.Add(time.Hour)
	facts.Jobs[0].ActivePods, facts.Jobs[0].FailedPods = 0, 9
	facts.Pods[0].Status.ContainerStatuses[0].RestartCount++
	if diff := cmp.Diff(want, Diagnose(facts).Primary()); diff != "" {
		t.Errorf("an hour later (-before +after):\n%s", diff)
	}
}
