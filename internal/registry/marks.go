package registry

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// MarkPrefix begins every mark that the operator stores in a registry. No tag of a user begins with it.
const MarkPrefix = "ai.example.com/"

// The marks, each of them a tag, a custom property or an annotation of an entry, as the registry has it. They fit the
// narrowest of them: letters, digits, dots, dashes and a slash.
const (
	MarkKey       = MarkPrefix + "registration"
	MarkOwner     = MarkPrefix + "owner"
	MarkCluster   = MarkPrefix + "cluster"
	MarkNamespace = MarkPrefix + "namespace"
	MarkName      = MarkPrefix + "name"
	MarkUID       = MarkPrefix + "uid"
	MarkVersion   = MarkPrefix + "version"
	// MarkOrigin is OriginCreated if the operator made the entry, OriginAdopted if it took it over.
	MarkOrigin = MarkPrefix + "origin"
	// MarkState is StateArchived on an archived entry, in registries without a state of their own.
	MarkState = MarkPrefix + "state"
	// MarkManagedTags lists the names of the user's tags that the operator wrote, so that it can take back those, and only
	// those, that are not wanted any more. See JoinTagNames.
	MarkManagedTags = MarkPrefix + "tags"
)

// Values of marks.
const (
	OriginCreated = "created"
	OriginAdopted = "adopted"
	StateArchived = "archived"
)

// Marks returns the marks of an entry that the operator made (created) or adopted. Each call returns a map of its own.
func (r Registration) Marks(created bool) map[string]string {
	origin := OriginAdopted
	if created {
		origin = OriginCreated
	}
	return map[string]string{
		MarkKey:       r.Key,
		MarkOwner:     r.Owner.Key(),
		MarkCluster:   r.Owner.Cluster,
		MarkNamespace: r.Owner.Namespace,
		MarkName:      r.Owner.Name,
		MarkUID:       string(r.Owner.UID),
		MarkVersion:   r.Version,
		MarkOrigin:    origin,
	}
}

// Marked is what the marks of an entry say.
type Marked struct {
	// Owned is false if the entry carries no marks: it is nobody's.
	Owned    bool
	Owner    Owner
	Key      string
	Created  bool
	Archived bool
}

// ReadMarks reads the marks among the tags of an entry.
func ReadMarks(tags map[string]string) Marked {
	return Marked{
		Owned:    tags[MarkKey] != "" || tags[MarkOwner] != "",
		Owner:    Owner{Cluster: tags[MarkCluster], Namespace: tags[MarkNamespace], Name: tags[MarkName], UID: types.UID(tags[MarkUID])},
		Key:      tags[MarkKey],
		Created:  tags[MarkOrigin] == OriginCreated,
		Archived: tags[MarkState] == StateArchived,
	}
}

// Claim decides whether the registration may take an entry with these marks. It returns whether the entry is, or stays, one
// that the operator made, and a Conflict or AdoptionRequired error if the registration may not have it.
func (r Registration) Claim(marked Marked) (created bool, err error) {
	switch {
	case marked.Owned && marked.Owner.Same(r.Owner):
		return marked.Created, nil
	case marked.Owned && (r.Adoption != AdoptAlways || r.Known != nil):
		return false, Errorf(Conflict, "version %q of %q belongs to %s", r.Version, r.Name, marked.Owner)
	case marked.Owned, r.Adoption == AdoptAlways, r.Adoption == AdoptIfUnowned:
		return false, nil
	default:
		return false, Errorf(AdoptionRequired, "version %q of %q exists and has no owner; an adoption policy would take it", r.Version, r.Name)
	}
}

// MayRemove decides whether Unregister may change or delete an entry with these marks: false and no error if it is not ours,
// OtherIncarnation if it is of another object of the same name.
func (r Registration) MayRemove(marked Marked) (bool, error) {
	switch {
	case !marked.Owned || !marked.Owner.Same(r.Owner) || marked.Key != r.Key:
		return false, nil
	case marked.Owner.UID != r.Owner.UID:
		err := Errorf(OtherIncarnation, "version %q of %q is registered for another object of that name", r.Version, r.Name)
		err.FoundUID = marked.Owner.UID
		return false, err
	default:
		return true, nil
	}
}

// WithoutMarks returns the tags that are no marks of the operator.
func WithoutMarks(tags map[string]string) map[string]string {
	rest := maps.Clone(tags)
	maps.DeleteFunc(rest, func(name, _ string) bool { return strings.HasPrefix(name, MarkPrefix) })
	return rest
}
