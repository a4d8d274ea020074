package registry

import (
	"context"
)

// Backend is one external model registry. Its methods are called by several workers at a time, for different keys; for one
// key, never two at once by the same operator. Every error is an *Error, or is treated as Unreachable.
//
// # Ownership
//
// A backend stores the marks of a registration (Registration.Marks) in the entry itself, in the same request that creates
// it. All that it has to know later is read from these marks, never from what the caller remembers: a crash right after any
// request then loses nothing, because the next call finds the entry by its key. Whether the operator made an entry or
// adopted it is such a mark too.
type Backend interface {
	// Check asks, without changing anything, whether the registry can be reached (else Unreachable) and accepts the
	// credentials (else Unauthorized).
	Check(ctx context.Context) error

	// Register makes the registry say what the registration says, and writes nothing if it does already.
	//
	// It looks the entry up by its key; if there is none, by name and version; if there is none, it creates it. If the
	// registry answers to that that the entry exists, it is read, and its owner compared:
	//   - our owner: the entry is ours. Its tags, description, source and servings are brought up to date. If it carries
	//     another UID, it is of an object of the same name that is gone, and is taken back: the UID is replaced, and an
	//     archived entry is un-archived. So is its key, if it is another.
	//   - another owner: a Conflict. Only with AdoptAlways, and if Known is nil, it is taken over as an adopted entry: an
	//     entry that was ours and that somebody took is never taken back.
	//   - no owner: adopted if the policy is AdoptIfUnowned or AdoptAlways, else AdoptionRequired.
	// Tags of others stay as they are. An entry that is made by the operator is marked as created; an adopted one is not.
	// The entry that comes back beside an InProgress error holds what is known so far.
	Register(ctx context.Context, registration Registration) (Entry, error)

	// Unregister takes the registration out of the registry. It returns nil once nothing is left to do: the entry is
	// deleted (Delete), is archived (Archive), or carries no mark of the operator any more (Orphan, and Delete of an
	// adopted entry, which is never deleted).
	//
	// It uses only Owner, Key, Name, Version and Known of the registration. The owner in the entry is read again right
	// before the entry is changed or deleted:
	//   - our owner and our UID: go on.
	//   - our owner and another UID: OtherIncarnation, with the UID found; the caller decides.
	//   - another owner, or none: nothing of ours is there, so nil, and nothing is changed.
	// What encloses entries (a registered model that holds versions) goes with the last of them only if the operator made it
	// and nothing of anybody else is left in it. Only the registry's own, typed answer that the entry does not exist counts
	// as gone; a proxy's 404 is Unreachable. What the registry cannot do at all is DeleteUnsupported.
	Unregister(ctx context.Context, registration Registration, policy DeletionPolicy) error
}

// DeletionPolicy is what becomes of an entry that is not registered any more.
type DeletionPolicy string

// The deletion policies.
const (
	// Delete deletes an entry that the operator made. An adopted one only loses the operator's marks and tags.
	Delete DeletionPolicy = "Delete"
	// Archive keeps the entry, and its marks, and says in the way of the registry that it is of the past.
	Archive DeletionPolicy = "Archive"
	// Orphan leaves the entry, without the operator's marks: nobody's.
	Orphan DeletionPolicy = "Orphan"
)

// AdoptionPolicy is what is done about an entry of the same name and version that the operator did not make.
type AdoptionPolicy string

// The adoption policies.
const (
	AdoptNever     AdoptionPolicy = "Never"
	AdoptIfUnowned AdoptionPolicy = "IfUnowned"
	AdoptAlways    AdoptionPolicy = "Always"
)

// Registration is what a registry shall say of one version of a model.
type Registration struct {
	Owner Owner
	// Key identifies the entry for ever. It is made by NewKey.
	Key string
	// Name is the name of the model in the registry, and Version the version as its owner calls it. Several owners may
	// register different versions under one name.
	Name, Version string

	// SourceURI and SourceRevision say where the weights are; Format how they are stored. Each may be empty.
	SourceURI, SourceRevision, Format string
	Description                       string
	// Tags are the owner's. None of them begins with MarkPrefix.
	Tags map[string]string
	// Servings are the places where the version is served, sorted by namespace and name.
	Servings []Serving

	Adoption AdoptionPolicy
	// Known is the entry as it was when it was registered last, or nil. It saves a search, and is never a proof.
	Known *Entry
}

// Serving is a place where a registered version is served: an InferenceService, or the AIModel itself.
type Serving struct {
	Kind, Namespace, Name string
	// URL is where it answers inside the cluster, or empty while it does not.
	URL string
	// Runtime is the name of the server program, or empty where it is not known.
	Runtime string
	Ready   bool
}

// Entry is a registration as the registry has it.
type Entry struct {
	// Name is the name of the model in the registry, ID the registry's own identification of the entry, and Version the
	// version as the registry calls it.
	Name, ID, Version string
	// URL is a page or a resource of the registry that shows the entry, without credentials.
	URL string
	// Created is true if the operator made the entry, Adopted if it took over one that was there.
	Created, Adopted bool
}
