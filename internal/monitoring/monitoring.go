// Package monitoring has the operator set up its own monitoring where the cluster has the Prometheus operator: the leader keeps
// a ServiceMonitor and a PrometheusRule in the operator's namespace, which go with the operator's Deployment.
//
// It is for installations that cannot bring the two along, because whoever makes them does not know what the cluster has. It
// must not keep the operator from its work, whatever becomes of it, and must not touch an object that it did not create.
package monitoring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

const (
	// Deployment is the operator's own, in every installation that sets up monitoring in this way.
	Deployment = "aimodel-operator-controller-manager"

	// ReasonSetUp is the reason of an event that says what was made or mended. All events are about the Deployment.
	ReasonSetUp = "MonitoringSetUp"
	// ReasonConflict is that of an event about an object of somebody else's.
	ReasonConflict = "MonitoringConflict"
	// ReasonFailed is that of an event about anything else that went wrong.
	ReasonFailed = "MonitoringFailed"

	// namespaceFile is where a pod finds the name of its namespace.
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

	// firstPause is how soon it is looked again for an API that the cluster lacks, and after a first failure.
	firstPause = 30 * time.Second
	// lastPause is how soon what stands is looked at again, and after many failures.
	lastPause = 10 * time.Minute

	action = "SetUpMonitoring"
)

// errNotServed says that the cluster has none of the kinds.
var errNotServed = errors.New("the cluster does not have the Prometheus operator's API")

// Settings say what the objects look like.
type Settings struct {
	// Namespace is the operator's own. Empty means the one that its pod is in.
	Namespace string
	// Labels are added to the objects, for a Prometheus that selects by them.
	Labels map[string]string
	// TokenSecret is a Secret of the namespace whose token Prometheus shows when it asks for metrics. Empty means that
	// Prometheus shows its own.
	TokenSecret string
}

// Add makes the leader keep the objects from when the manager starts.
func Add(mgr manager.Manager, recorder events.EventRecorder, settings Settings) error {
	settings.Namespace = cmp.Or(settings.Namespace, podNamespace())
	if settings.Namespace == "" {
		mgr.GetLogger().WithName("monitoring").Info("Monitoring is not set up: the operator runs in no pod", "missing", namespaceFile)
		return nil
	}
	wanted, err := objects(settings.Namespace, settings)
	if err != nil {
		return fmt.Errorf("prepare monitoring: %w", err)
	}
	// A client without a cache: the manager's would watch these kinds in every namespace that the operator works in.
	live, err := client.New(mgr.GetConfig(), client.Options{
		Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient(),
	})
	if err != nil {
		return fmt.Errorf("make the client for monitoring: %w", err)
	}
	return mgr.Add(&keeper{
		live: live, applier: &apply.Applier{Client: live, Live: live}, recorder: recorder, namespace: settings.Namespace, wanted: wanted,
	})
}

// podNamespace is the namespace of the pod that the operator runs in, or empty.
func podNamespace() string {
	name, _ := os.ReadFile(namespaceFile) // it is there in pods only
	return strings.TrimSpace(string(name))
}

// keeper is a manager.Runnable. It runs in the leader only.
type keeper struct {
	live      client.Client
	applier   *apply.Applier
	recorder  events.EventRecorder
	namespace string
	wanted    []client.Object
	// told is the problem that was told last.
	told string
}

// Start keeps the objects until the context ends.
func (k *keeper) Start(ctx context.Context) error {
	ctx = log.IntoContext(ctx, log.FromContext(ctx).WithName("monitoring"))
	pause := time.Duration(0)
	for {
		owner := k.owner()
		changes, err := k.keep(ctx, owner)
		if ctx.Err() == nil { // whatever fails at the end is no problem
			k.tell(ctx, owner, changes, err)
		}
		pause = nextPause(pause, err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// nextPause is how long to wait after a pass, given how long it was before it.
func nextPause(last time.Duration, err error) time.Duration {
	switch {
	case err == nil:
		return lastPause
	case errors.Is(err, errNotServed), last == 0, last == lastPause:
		return firstPause
	}
	return min(2*last, lastPause)
}

func (k *keeper) owner() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: Deployment}}
}

// keep brings into the cluster what it has the kinds for, and reads owner on the way. A problem with one object keeps no other
// from being applied.
func (k *keeper) keep(ctx context.Context, owner *appsv1.Deployment) ([]apply.Change, error) {
	served, err := k.served()
	if err != nil {
		return nil, err
	}
	missing := len(served) < len(k.wanted)
	if len(served) == 0 {
		return nil, errNotServed
	}
	if err := k.live.Get(ctx, client.ObjectKeyFromObject(owner), owner); err != nil {
		return nil, fmt.Errorf("find the operator's own Deployment: %w", err)
	}
	// It does not block the deletion of the Deployment: that would take the right to write the finalizers of Deployments.
	reference := metav1.OwnerReference{
		APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true),
	}
	var changes []apply.Change
	var problems []error
	for _, object := range served {
		prepared, err := apply.Prepare(object, reference, k.live.Scheme())
		if err != nil {
			return changes, err
		}
		changed, err := k.applier.Apply(ctx, owner, []apply.Object{prepared})
		changes = append(changes, changed...)
		if apierrors.IsNotFound(err) { // the API has gone since it was found
			missing, err = true, nil
		}
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil || !missing {
		return changes, err
	}
	return changes, errNotServed
}

// served are the objects whose kind the cluster has.
func (k *keeper) served() ([]client.Object, error) {
	var found []client.Object
	for _, object := range k.wanted {
		gvk, err := apiutil.GVKForObject(object, k.live.Scheme())
		if err == nil {
			_, err = k.live.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		}
		switch {
		case err == nil:
			found = append(found, object)
		case !meta.IsNoMatchError(err):
			return nil, fmt.Errorf("ask whether the cluster serves %s: %w", gvk.Kind, err)
		}
	}
	return found, nil
}

// tell logs what was changed, and a problem when it is another than before, and sends events about both.
func (k *keeper) tell(ctx context.Context, owner *appsv1.Deployment, changes []apply.Change, problem error) {
	logger := log.FromContext(ctx)
	if len(changes) > 0 {
		notes := make([]string, 0, len(changes))
		for _, change := range changes {
			notes = append(notes, fmt.Sprintf("%s %s was %s", change.Kind, change.Name, strings.ToLower(string(change.Action))))
		}
		logger.Info("Monitoring is set up", "changes", notes)
		k.send(owner, corev1.EventTypeNormal, ReasonSetUp, strings.Join(notes, ", "))
	}
	said := ""
	if problem != nil {
		said = problem.Error()
	}
	if said == k.told {
		return
	}
	k.told = said
	var conflict *apply.ConflictError
	switch {
	case problem == nil:
		logger.Info("Nothing keeps monitoring from being set up any more")
	case errors.Is(problem, errNotServed):
		logger.Info("Monitoring is set up when the cluster has the Prometheus operator's API")
	case errors.As(problem, &conflict):
		logger.Error(problem, "An object of somebody else's is left as it is")
		k.send(owner, corev1.EventTypeWarning, ReasonConflict, said)
	default:
		logger.Error(problem, "Could not set up monitoring")
		k.send(owner, corev1.EventTypeWarning, ReasonFailed, said)
	}
}

// send sends an event about the Deployment, if that was found.
func (k *keeper) send(owner *appsv1.Deployment, kind, reason, note string) {
	if owner.UID != "" {
		serving.Send(k.recorder, owner, serving.Event{Type: kind, Reason: reason, Action: action, Note: note})
	}
}
