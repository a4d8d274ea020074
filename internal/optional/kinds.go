// Package optional finds out which of the kinds that a cluster may lack are served, and has them watched from then on. It
// asks the API server only about kinds that somebody wants, and never for one that is watched already.
package optional

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/aimodel-operator/aimodel-operator/internal/watches"
)

// Kinds knows the optional kinds of a manager. It is safe for concurrent use.
type Kinds struct {
	mgr   manager.Manager
	types map[schema.GroupVersionKind]client.Object

	mu          sync.Mutex
	controllers map[string]controller.Controller
	watched     map[schema.GroupVersionKind]bool
}

// New returns the optional kinds for a manager, of which none is watched yet.
func New(mgr manager.Manager) (*Kinds, error) {
	kinds := &Kinds{
		mgr:         mgr,
		types:       map[schema.GroupVersionKind]client.Object{},
		controllers: map[string]controller.Controller{},
		watched:     map[schema.GroupVersionKind]bool{},
	}
	for _, object := range watches.OptionalChildTypes() {
		gvk, err := apiutil.GVKForObject(object, mgr.GetScheme())
		if err != nil {
			return nil, fmt.Errorf("find the kind of %T: %w", object, err)
		}
		kinds.types[gvk] = object
	}
	return kinds, nil
}

// AddController names the controller that keeps children for owners of a kind. Call it before the manager starts.
func (k *Kinds) AddController(ownerKind string, c controller.Controller) {
	k.controllers[ownerKind] = c
}

// IsWatched says whether objects of a kind can be read from the cache. Every kind that is not optional can.
func (k *Kinds) IsWatched(gvk schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.types[gvk] == nil || k.watched[gvk]
}

// Ensure says whether the cluster serves a kind and, from the first time that it does, has it watched.
func (k *Kinds) Ensure(gvk schema.GroupVersionKind) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.types[gvk] == nil || k.watched[gvk] {
		return true, nil
	}
	_, err := k.mgr.GetRESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask whether %s is served: %w", gvk, err)
	}
	for ownerKind, c := range k.controllers {
		if err := c.Watch(source.Kind(k.mgr.GetCache(), k.types[gvk], watches.ToOwner(ownerKind), watches.Child())); err != nil {
			return false, fmt.Errorf("watch %s: %w", gvk, err)
		}
	}
	k.watched[gvk] = true
	return true, nil
}
