package apply

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// Inventory lists the objects as status shows them.
func Inventory(objects []Object) []aiv1.InventoryEntry {
	var entries []aiv1.InventoryEntry
	for _, object := range objects {
		entries = append(entries, object.entry())
	}
	return entries
}

// Prune deletes what is in the recorded inventory and not in the objects, and returns what it deleted. It deletes only
// what the owner controls; what is gone already, or belongs to somebody else by now, is passed over.
// Call it only after an Apply of the same objects that had no error.
func (a *Applier) Prune(ctx context.Context, owner client.Object, recorded []aiv1.InventoryEntry, objects []Object) ([]Change, error) {
	keep := Inventory(objects)
	var changes []Change
	for _, entry := range recorded {
		if slices.Contains(keep, entry) {
			continue
		}
		// Status can be edited by hand: what no chart renders is nothing of ours.
		if !slices.Contains(a.Kinds, schema.FromAPIVersionAndKind(entry.APIVersion, entry.Kind)) {
			continue
		}
		deleted, err := a.pruneOne(ctx, owner, entry)
		if err != nil {
			return changes, fmt.Errorf("delete %s %q: %w", entry.Kind, entry.Name, err)
		}
		if deleted {
			changes = append(changes, Change{Action: Deleted, Kind: entry.Kind, Name: entry.Name})
		}
	}
	return changes, nil
}

func (a *Applier) pruneOne(ctx context.Context, owner client.Object, entry aiv1.InventoryEntry) (bool, error) {
	object := Object{
		GVK:       schema.FromAPIVersionAndKind(entry.APIVersion, entry.Kind),
		Namespace: owner.GetNamespace(),
		Name:      entry.Name,
	}
	if served, err := a.served(object.GVK); err != nil || !served {
		// With its API an object is gone too.
		return false, err
	}
	live, err := a.get(ctx, a.Client, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !metav1.IsControlledBy(live, owner) || !live.GetDeletionTimestamp().IsZero() {
		return false, nil
	}
	uid := live.GetUID()
	err = a.Client.Delete(ctx, live, client.Preconditions{UID: &uid},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	return err == nil, client.IgnoreNotFound(err)
}

// Owned lists the children of the owner that the cache knows, of every kind that charts render. It tells of objects that an
// interrupted pass created without recording them.
func (a *Applier) Owned(ctx context.Context, owner client.Object, childName string) ([]aiv1.InventoryEntry, error) {
	var owned []aiv1.InventoryEntry
	for _, gvk := range a.Kinds {
		if a.Optional != nil && !a.Optional.IsWatched(gvk) {
			continue
		}
		object := Object{GVK: gvk, Namespace: owner.GetNamespace(), Name: childName}
		live, err := a.get(ctx, a.Client, object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if metav1.IsControlledBy(live, owner) {
			owned = append(owned, object.entry())
		}
	}
	return owned, nil
}
