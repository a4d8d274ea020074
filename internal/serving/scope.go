package serving

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// Owner is an object whose children the operator keeps.
type Owner interface {
	client.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
	GetServingStatus() *aiv1.ServingStatus
}

// Scope is the state of one reconcile. Steps fill it; status is computed from it.
type Scope struct {
	// Owner is the object, as read at the start. Only its status is changed.
	Owner Owner
	// Kind is the kind of the owner.
	Kind string
	// ChildName is the name of every child that the owner can have.
	ChildName string

	// Inputs is set by the resolve step. It stays nil for an object that runs nothing.
	Inputs *resolve.Inputs
	// Idle is the state of Replicas for an object that runs nothing.
	Idle conditions.Outcome

	// Conditions is what the steps found out.
	Conditions conditions.Set
	// Deployment is the live one. Nil when there is none, or when it is not the owner's.
	Deployment *appsv1.Deployment
	// URL is the address of the Service. Empty while there is none. It holds only when URLKnown.
	URL string
	// URLKnown is false on a pass that could not find out what is served.
	URLKnown bool

	objects []apply.Object
	// unlisted is what the owner may have beside its inventory.
	unlisted []aiv1.InventoryEntry
	changes  []apply.Change
	selector string
	applied  bool
	// unfinished is true on a pass that ends early for the sake of other owners. It tells nothing; the next one does.
	unfinished bool
	// wrong is the class of the error that the pass ended with. Empty when nothing is wrong.
	wrong metrics.ErrorClass

	// diagnosis is what is wrong, as far as children tell.
	diagnosis diagnose.Result
	// phases is set on the pass that finds the first ready pod of a revision.
	phases *aiv1.Phases
	// again is when to look again at what no watch tells of. Zero: never.
	again time.Duration
}

// lookAgain asks for another pass after a while.
func (s *Scope) lookAgain(after time.Duration) {
	if after > 0 && (s.again == 0 || after < s.again) {
		s.again = after
	}
}

// Step is one stage of a reconcile. An error ends the steps that depend on it.
type Step func(ctx context.Context, scope *Scope) error

// Paused says whether the children of the owner are to be left as they are.
func (s *Scope) Paused() bool {
	return s.Owner.GetAnnotations()[aiv1.AnnotationPaused] == "true"
}

func (s *Scope) ownerReference() metav1.OwnerReference {
	return *metav1.NewControllerRef(s.Owner, aiv1.GroupVersion.WithKind(s.Kind))
}
