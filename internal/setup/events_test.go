package setup

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/log"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// refusing is a sink that refuses every event, and tells when it has.
type refusing struct {
	err   error
	asked chan struct{}
}

func (r refusing) Create(context.Context, *eventsv1.Event) (*eventsv1.Event, error) {
	r.asked <- struct{}{}
	return nil, r.err
}

func (r refusing) Update(context.Context, *eventsv1.Event) (*eventsv1.Event, error) {
	return nil, r.err
}

func (r refusing) Patch(context.Context, *eventsv1.Event, []byte) (*eventsv1.Event, error) {
	return nil, r.err
}

func TestAnEventIntoADeletedNamespaceIsNoError(t *testing.T) {
	terminating := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "x", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for name, tc := range map[string]struct {
		err     error
		wantLog bool
	}{
		"the namespace is being deleted": {terminating, false},
		"events may not be written":      {apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "x", errors.New("no")), true},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var lines []string
			logger := funcr.New(func(_, line string) {
				mu.Lock()
				defer mu.Unlock()
				lines = append(lines, line)
			}, funcr.Options{})
			scheme, err := Scheme()
			if err != nil {
				t.Fatal(err)
			}
			sink := refusing{tc.err, make(chan struct{}, 1)}
			broadcaster := events.NewBroadcaster(eventSink{sink})
			if err := broadcaster.StartRecordingToSinkWithContext(log.IntoContext(t.Context(), logger)); err != nil {
				t.Fatal(err)
			}
			model := &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama"}}
			broadcaster.NewRecorder(scheme, aiv1.ManagedBy).Eventf(model, nil, corev1.EventTypeNormal, "Ready", "Reconcile", "it is")
			select {
			case <-sink.asked:
			case <-time.After(time.Minute):
				t.Fatal("the event was never sent")
			}
			broadcaster.Shutdown()
			logged := func() bool {
				mu.Lock()
				defer mu.Unlock()
				return strings.Contains(strings.Join(lines, "\n"), "rejected")
			}
			// The line of an error follows the answer within a moment.
			patience := 300 * time.Millisecond
			if tc.wantLog {
				patience = time.Minute
			}
			for deadline := time.Now().Add(patience); !logged() && time.Now().Before(deadline); {
				<-time.After(time.Millisecond)
			}
			if logged() != tc.wantLog {
				t.Errorf("log = %q", lines)
			}
		})
	}
}
