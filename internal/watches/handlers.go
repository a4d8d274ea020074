package watches

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
)

// Gather is how long events of children are gathered before their owner is looked at. A rollout changes its Deployment
// several times within a moment, and each look costs a write of status.
const Gather = 300 * time.Millisecond

// Behind is the priority of an owner that a child or a pod wakes: behind what was created or changed by a user, which has 0, and
// before what had been acted upon when the operator started. Of many objects that are created at once all get their pods first,
// because pods take minutes to come up, and what became of the others is told after that.
const Behind = handler.LowPriority / 2

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// pending puts an object that was there when the operator started, and whose spec it has not acted upon, on a level with what is
// created while it runs: models that were applied before the operator was there have no pods yet either. It is silent about what is
// created later: somebody else wakes that, and a second word would come after the pass had begun, and cost another.
func pending() handler.EventHandler {
	return handler.Funcs{CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
		owner, ok := e.Object.(interface{ GetServingStatus() *aiv1.ServingStatus })
		ordered, isOrdered := q.(priorityqueue.PriorityQueue[reconcile.Request])
		if e.IsInInitialList && ok && isOrdered && owner.GetServingStatus().ObservedGeneration != e.Object.GetGeneration() {
			ordered.AddWithOpts(priorityqueue.AddOpts{Priority: new(0)}, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
		}
	}}
}

// ToOwner wakes the owner of the given kind that controls a child.
func ToOwner(kind string) handler.EventHandler {
	return gathered(func(object client.Object) (types.NamespacedName, bool) {
		controller := metav1.GetControllerOf(object)
		if controller == nil || controller.Kind != kind {
			return types.NamespacedName{}, false
		}
		group, err := schema.ParseGroupVersion(controller.APIVersion)
		if err != nil || group.Group != aiv1.Group {
			return types.NamespacedName{}, false
		}
		return types.NamespacedName{Namespace: object.GetNamespace(), Name: controller.Name}, true
	})
}

// PodToOwner wakes the owner of the given kind that a pod serves.
func PodToOwner(kind string) handler.EventHandler {
	return gathered(func(object client.Object) (types.NamespacedName, bool) {
		ownerKind, name := index.OwnerOfPod(object)
		return types.NamespacedName{Namespace: object.GetNamespace(), Name: name}, ownerKind == kind
	})
}

func gathered(ownerOf func(client.Object) (types.NamespacedName, bool)) handler.EventHandler {
	enqueue := func(object client.Object, q queue) {
		if key, ok := ownerOf(object); ok {
			wake(q, reconcile.Request{NamespacedName: key})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			enqueue(e.ObjectNew, q)
			// An object whose owner was taken away has to come back to that owner.
			was, _ := ownerOf(e.ObjectOld)
			if is, _ := ownerOf(e.ObjectNew); is != was {
				enqueue(e.ObjectOld, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(e.Object, q) },
	}
}

// wake puts an owner into the queue of its controller, for when its events are gathered.
func wake(q queue, owner reconcile.Request) {
	if ordered, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		ordered.AddWithOpts(priorityqueue.AddOpts{After: Gather, Priority: new(Behind)}, owner)
		return
	}
	q.AddAfter(owner, Gather)
}
