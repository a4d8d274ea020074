package serving

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/watches"
)

func TestAPassThatEndsEarlyTellsNothingAndIsContinued(t *testing.T) {
	c := newCluster(t)
	waiting, released := make(chan struct{}), make(chan struct{})
	c.beforeService = func() {
		waiting <- struct{}{}
		<-released
	}
	type end struct {
		result ctrl.Result
		err    error
	}
	ended := make(chan end)
	p, recorder := newPipeline(t, c), events.NewFakeRecorder(10)
	start := func(m *aiv1.AIModel) {
		result, err := Reconcile(t.Context(), p, recorder, modelKind(nil), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(m)})
		ended <- end{result, err}
	}

	// One after the other has to wait for its Service, until one is sent away.
	m := model()
	var early *end
	others := 0
	for ; early == nil; others++ {
		m = model()
		m.Name = "m" + strconv.Itoa(others)
		if err := c.Create(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		go start(m)
		select {
		case <-waiting:
		case e := <-ended:
			early = &e
		}
	}
	want := ctrl.Result{RequeueAfter: watches.Gather, Priority: new(watches.Behind)}
	if diff := cmp.Diff(want, early.result); diff != "" || early.err != nil {
		t.Errorf("error = %v, result (-want +got):\n%s", early.err, diff)
	}
	key := client.ObjectKeyFromObject(m)
	if err := errors.Join(c.Get(t.Context(), key, &appsv1.Deployment{}), c.Get(t.Context(), key, m)); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), key, &corev1.Service{}); !apierrors.IsNotFound(err) {
		t.Errorf("reading the Service: %v, want that it is not there yet", err)
	}
	if c.statusWrites != 0 || len(recorder.Events) != 0 {
		t.Errorf("%d writes of status, %d events; want none", c.statusWrites, len(recorder.Events))
	}

	go start(m)
	<-waiting
	for range others {
		released <- struct{}{}
		if e := <-ended; e.err != nil {
			t.Error(e.err)
		}
	}
	if err := c.Get(t.Context(), key, m); err != nil {
		t.Fatal(err)
	}
	if got := condition(m, "Applied"); got != "True ObjectsApplied" || len(m.Status.Inventory) != 3 {
		t.Errorf("Applied = %s, inventory = %v; want that the next pass completes it", got, m.Status.Inventory)
	}
}
