package setup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	typedeventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// eventSink drops events about objects of a namespace that is being deleted: nothing can be created there, and the client
// library would log each as an error.
type eventSink struct{ events.EventSink }

// Create sends a new event.
func (s eventSink) Create(ctx context.Context, event *eventsv1.Event) (*eventsv1.Event, error) {
	created, err := s.EventSink.Create(ctx, event)
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return event, nil
	}
	return created, err
}

// recorder sends events until it is shut down.
type recorder struct {
	events.EventRecorder
	broadcaster events.EventBroadcaster
	stop        context.CancelFunc
}

func newRecorder(ctx context.Context, mgr manager.Manager) (*recorder, error) {
	api, err := typedeventsv1.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make a client for events: %w", err)
	}
	r := &recorder{broadcaster: events.NewBroadcaster(eventSink{&events.EventSinkImpl{Interface: api}})}
	// What was recorded before a signal is still sent after it.
	ctx, r.stop = context.WithCancel(log.IntoContext(context.WithoutCancel(ctx), ctrl.Log.WithName("events")))
	if err := r.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		r.stop()
		return nil, fmt.Errorf("start to record events: %w", err)
	}
	r.EventRecorder = r.broadcaster.NewRecorder(mgr.GetScheme(), aiv1.ManagedBy)
	return r, nil
}

// shutdown sends what was recorded, and ends. Nothing may be recorded any more.
func (r *recorder) shutdown() {
	r.broadcaster.Shutdown()
	r.stop()
}

// recording is a manager whose recorder ends after everything that records.
type recording struct {
	manager.Manager
	recorder *recorder
}

// Start runs the manager.
func (m recording) Start(ctx context.Context) error {
	defer m.recorder.shutdown()
	return m.Manager.Start(ctx)
}
