package serving

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

func TestPatchStatus(t *testing.T) {
	known := model()
	known.Status.ObservedGeneration = 1
	for name, tc := range map[string]struct {
		change     func(*aiv1.AIModel)
		absent     bool
		fail       error
		wantWrites int
		wantErr    bool
	}{
		"no change":                  {change: func(*aiv1.AIModel) {}},
		"a change":                   {change: func(m *aiv1.AIModel) { m.Status.Replicas = 2 }, wantWrites: 1},
		"the object is gone":         {change: func(m *aiv1.AIModel) { m.Status.Replicas = 2 }, absent: true, wantWrites: 1},
		"the server does not answer": {change: func(m *aiv1.AIModel) { m.Status.Replicas = 2 }, fail: apierrors.NewTimeoutError("slow", 1), wantWrites: 1, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			if !tc.absent {
				c = newCluster(t, known.DeepCopy())
			}
			c.refuse["status"] = tc.fail
			after := known.DeepCopy()
			tc.change(after)
			err := PatchStatus(t.Context(), c, known, after)
			if (err != nil) != tc.wantErr || c.statusWrites != tc.wantWrites {
				t.Errorf("error = %v, %d writes; want %d", err, c.statusWrites, tc.wantWrites)
			}
		})
	}
}

func TestTheFirstStatusHasItsZeros(t *testing.T) {
	after := model()
	after.Status.ObservedGeneration = 1
	data, err := wholeStatus{}.Data(after)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"status":{"availableReplicas":0,"observedGeneration":1,"readyReplicas":0,"replicas":0}}`; string(data) != want {
		t.Errorf("patch = %s\nwant    %s", data, want)
	}
	c := newCluster(t, model())
	if err := PatchStatus(t.Context(), c, model(), after); err != nil || c.statusWrites != 1 {
		t.Errorf("error = %v, %d writes", err, c.statusWrites)
	}
}
