package mlflow

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// MLflow sets and deletes tags one by one, and the operator may end between two of them. So they are written in an order in which
// what is there always tells what was meant:
//   - who the owner is comes before that there is one, and the list of the user's tags before the tags;
//   - before the marks of an owner go, the state says that they are going, and the owner's hash goes after the rest.

// stateReleasing is the state of a version that is about to be nobody's.
const stateReleasing = "releasing"

// first is the order in which marks are set, before all other tags; last the order in which they go, after all others.
var (
	first = []string{markEntry, registry.MarkOrigin, registry.MarkUID, registry.MarkCluster, registry.MarkNamespace, registry.MarkName,
		registry.MarkKey, registry.MarkOwner, registry.MarkManagedTags}
	last = []string{registry.MarkManagedTags, registry.MarkKey, registry.MarkCluster, registry.MarkNamespace, registry.MarkName,
		registry.MarkUID, registry.MarkOrigin, registry.MarkOwner, registry.MarkState, markEntry}
)

// markedFor is what the tags of a version say to the owner of a registration: marks that are half set or half gone are its own
// too, if they are its.
func markedFor(r registry.Registration, v version) registry.Marked {
	tags := v.tags()
	marked := registry.ReadMarks(tags)
	going := tags[registry.MarkState] == stateReleasing && tags[registry.MarkOwner] == r.Owner.Key()
	coming := !marked.Owned && tags[registry.MarkOrigin] == registry.OriginAdopted
	for name, value := range r.Marks(false) {
		coming = coming && (tags[name] == "" || tags[name] == value)
	}
	if going || coming {
		marked.Owned, marked.Owner, marked.Key = true, r.Owner, r.Key
	}
	return marked
}

// change makes the operator's tags of a version those that are wanted.
func (b *Backend) change(ctx context.Context, v version, want map[string]string) error {
	set, remove := registry.Changes(v.tags(), want)
	for _, name := range remove {
		if err := gone(b.deleteTag(ctx, v, name)); err != nil {
			return err
		}
	}
	names := slices.Sorted(maps.Keys(set))
	slices.SortStableFunc(names, func(a, b string) int { return place(first, a, len(first)) - place(first, b, len(first)) })
	for _, name := range names {
		if err := b.setTag(ctx, v, name, set[name]); err != nil {
			return err
		}
	}
	return nil
}

// archive keeps all tags of a version but those that say where it is served.
func (b *Backend) archive(ctx context.Context, v version) error {
	kept := map[string]string{}
	for _, name := range registry.Ours(v.tags()) {
		if !strings.HasPrefix(name, markServing) {
			kept[name] = v.tags()[name]
		}
	}
	kept[registry.MarkState] = registry.StateArchived
	return b.change(ctx, v, kept)
}

// release takes all tags of the operator from a version, but, if it is to be named, for those that say of which version it is.
func (b *Backend) release(ctx context.Context, v version, named bool) error {
	tags := v.tags()
	if tags[registry.MarkState] != stateReleasing {
		if err := b.setTag(ctx, v, registry.MarkState, stateReleasing); err != nil {
			return err
		}
		tags[registry.MarkState] = stateReleasing
	}
	keep := map[string]string{}
	if named {
		keep[markEntry], keep[registry.MarkVersion] = tags[markEntry], tags[registry.MarkVersion]
	}
	_, remove := registry.Changes(tags, keep)
	slices.SortStableFunc(remove, func(a, b string) int { return place(last, a, -1) - place(last, b, -1) })
	for _, name := range remove {
		if err := gone(b.deleteTag(ctx, v, name)); err != nil {
			return err
		}
	}
	return nil
}

// finishRelease takes the last tags from a version whose owner is gone from them already.
func (b *Backend) finishRelease(ctx context.Context, v version) error {
	tags := v.tags()
	switch ours := registry.Ours(tags); {
	case len(ours) == 1 && ours[0] == markEntry:
		return gone(b.deleteTag(ctx, v, markEntry))
	case tags[registry.MarkState] == stateReleasing && tags[registry.MarkOwner] == "":
		return b.release(ctx, v, tags[registry.MarkVersion] != "")
	}
	return nil
}

// place is where a name stands in a list, or where it stands if it does not.
func place(list []string, name string, otherwise int) int {
	if at := slices.Index(list, name); at >= 0 {
		return at
	}
	return otherwise
}
