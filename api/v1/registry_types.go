package v1

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeletionPolicy is what becomes of an entry in a registry once it is not wanted any more.
// +kubebuilder:validation:Enum=Delete;Archive;Orphan
type DeletionPolicy string

// The deletion policies.
const (
	DeletionDelete  DeletionPolicy = "Delete"
	DeletionArchive DeletionPolicy = "Archive"
	DeletionOrphan  DeletionPolicy = "Orphan"
)

// AdoptionPolicy is what is done about an entry that exists already and was not made for this AIModel.
// +kubebuilder:validation:Enum=Never;IfUnowned;Always
type AdoptionPolicy string

// The adoption policies.
const (
	AdoptionNever     AdoptionPolicy = "Never"
	AdoptionIfUnowned AdoptionPolicy = "IfUnowned"
	AdoptionAlways    AdoptionPolicy = "Always"
)

// CleanupTimeoutPolicy is what happens when a cleanup takes too long.
// +kubebuilder:validation:Enum=Block;Orphan
type CleanupTimeoutPolicy string

// What can happen.
const (
	CleanupBlock  CleanupTimeoutPolicy = "Block"
	CleanupOrphan CleanupTimeoutPolicy = "Orphan"
)

// Registry says how a model is registered in an external registry.
type Registry struct {
	// registryRef names the ModelRegistry. Without it, the default registry of the operator is used, if it has one.
	// +optional
	RegistryRef *RegistryReference `json:"registryRef,omitempty"`

	// registeredName is the name of the model in the registry. spec.modelName by default. Models with different versions may
	// share a name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+([._-][a-z0-9]+)*(/[a-z0-9]+([._-][a-z0-9]+)*)*$`
	RegisteredName string `json:"registeredName,omitempty"`

	// deletionPolicy is what becomes of the entry when this object is deleted, or registers another version, name or registry
	// instead: Delete deletes it if the operator made it, Archive keeps it as one of the past, Orphan leaves it as it is. It
	// can still be changed while the object is being deleted.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// adoptionPolicy is what is done about an entry of the same name and version that is there already: Never leaves it alone,
	// IfUnowned takes it if no operator registered it, Always takes it in any case, once. An adopted entry is never deleted.
	// +optional
	// +kubebuilder:default=Never
	AdoptionPolicy AdoptionPolicy `json:"adoptionPolicy,omitempty"`

	// required makes the object Ready only once it is registered.
	// +optional
	Required bool `json:"required,omitempty"`

	// tags are stored with the entry. Other tags of the entry stay as they are.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$') && size(name) <= 63 && !name.startsWith('ai.example.com/'))",message="a tag's name has up to 63 letters, digits, '-', '_', '.' and '/', and does not begin with ai.example.com/"
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(self[name]) <= 255)",message="a tag's value has up to 255 characters"
	Tags map[string]string `json:"tags,omitempty"`

	// cleanup bounds the time that the deletion of this object waits for the registry.
	// +optional
	Cleanup *RegistryCleanup `json:"cleanup,omitempty"`
}

// RegistryReference names a ModelRegistry in the namespace of the object.
type RegistryReference struct {
	// name is the name of the ModelRegistry.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// RegistryCleanup bounds a cleanup.
type RegistryCleanup struct {
	// timeout is how long to try. 1h by default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('720h')",message="must be from 1s to 720h"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// onTimeout is what happens then: Orphan leaves the entry in the registry and lets this object go, Block goes on trying.
	// +optional
	// +kubebuilder:default=Orphan
	OnTimeout CleanupTimeoutPolicy `json:"onTimeout,omitempty"`
}

// Registration is an entry in a registry that is, or may be, there for this object.
type Registration struct {
	// registryRef is the ModelRegistry.
	// +optional
	RegistryRef *RegistrationRegistry `json:"registryRef,omitempty"`

	// key identifies the entry: it is stored with it, and always the same for the same cluster, object, name and version.
	// +optional
	Key string `json:"key,omitempty"`

	// name is the name of the model in the registry.
	// +optional
	Name string `json:"name,omitempty"`

	// modelVersion is the version of the model that is registered.
	// +optional
	ModelVersion string `json:"modelVersion,omitempty"`

	// deletionPolicy is what becomes of the entry once it is not wanted any more.
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// id is the registry's own identification of the entry. Empty until it is known to be there.
	// +optional
	ID string `json:"id,omitempty"`

	// version is the version as the registry calls it.
	// +optional
	Version string `json:"version,omitempty"`

	// url shows the entry.
	// +optional
	URL string `json:"url,omitempty"`

	// created is true if the operator made the entry, and false if it took over one that was there.
	// +optional
	Created bool `json:"created,omitempty"`
}

// RegistrationRegistry names a ModelRegistry in any namespace.
type RegistrationRegistry struct {
	// namespace is the namespace of the ModelRegistry.
	// +required
	Namespace string `json:"namespace"`
	// name is the name of the ModelRegistry.
	// +required
	Name string `json:"name"`
}

// RegistryStatus says what is registered. Each registration is recorded here before the registry is first asked for it, so that none is
// ever forgotten.
type RegistryStatus struct {
	Registration `json:",inline"`

	// lastError is what went wrong last. Empty when nothing is wrong.
	// +optional
	LastError string `json:"lastError,omitempty"`

	// cleanup is there while entries are being cleaned up and that did not succeed at once.
	// +optional
	Cleanup *CleanupStatus `json:"cleanup,omitempty"`

	// previous lists entries that are not wanted any more and still have to be cleaned up.
	// +optional
	// +listType=atomic
	Previous []Registration `json:"previous,omitempty"`
}

// CleanupStatus says how a cleanup goes.
type CleanupStatus struct {
	// startedAt is when it began.
	// +required
	StartedAt metav1.Time `json:"startedAt"`
	// attempts is how often the registry was asked in vain.
	// +required
	Attempts int32 `json:"attempts"`
}

// FinalizerRegistryCleanup keeps an object until its entries in registries are cleaned up. Only objects with something to clean
// have it.
const FinalizerRegistryCleanup = Group + "/registry-cleanup"

// IsBeingCleanedUp says whether an object is being deleted and one of the operator's own finalizers keeps it.
func IsBeingCleanedUp(object metav1.Object) bool {
	return !object.GetDeletionTimestamp().IsZero() && slices.ContainsFunc(object.GetFinalizers(), func(finalizer string) bool {
		return strings.HasPrefix(finalizer, Group+"/")
	})
}

// AnnotationSkipRegistryCleanup lets an object that is being deleted go without a cleanup. Its value says why.
const AnnotationSkipRegistryCleanup = Group + "/skip-registry-cleanup"

// Conditions of objects that are registered.
const (
	// ConditionRegistered says that the registry has what the object says. It is there while spec.registry is.
	ConditionRegistered = "Registered"
	// ConditionCleanedUp says that entries which are not wanted any more are gone. It is there while a cleanup does not succeed at
	// once, and after one that was given up.
	ConditionCleanedUp = "CleanedUp"
)

// Reasons of ConditionRegistered and ConditionCleanedUp. ReasonConflict says of them that the entry belongs to another owner, and
// ReasonInvalid that the registry refuses what it shall store or that its ModelRegistry is wrong.
const (
	// ReasonRegistered: the registry has what the object says.
	ReasonRegistered = "Registered"
	// ReasonUpdatePending: the entry is there, and a change of it, or a look at it, is still to come; the message says why.
	ReasonUpdatePending = "UpdatePending"
	// ReasonRegistering: the registry is being asked.
	ReasonRegistering = "Registering"
	// ReasonRegistryNotFound: the ModelRegistry does not exist, or none is named and the operator has no default.
	ReasonRegistryNotFound = "RegistryNotFound"
	// ReasonRegistryDeleting: the ModelRegistry is being deleted, so nothing new is registered there.
	ReasonRegistryDeleting = "RegistryDeleting"
	// ReasonAdoptionRequired: the entry is there, is nobody's, and the adoption policy does not take it.
	ReasonAdoptionRequired = "AdoptionRequired"
	// ReasonUnauthorized: the registry refuses the credentials.
	ReasonUnauthorized = "Unauthorized"
	// ReasonUnreachable: the registry does not answer, or not as it should.
	ReasonUnreachable = "Unreachable"
	// ReasonRateLimited: the registry asks for fewer requests.
	ReasonRateLimited = "RateLimited"
	// ReasonInProgress: the registry works on it.
	ReasonInProgress = "InProgress"
	// ReasonDeleteUnsupported: the registry does not delete or archive the entry. Change the deletion policy.
	ReasonDeleteUnsupported = "DeleteUnsupported"
	// ReasonBlocked: the ModelRegistry, or the Secret that it names, is gone, so nothing can be cleaned up there.
	ReasonBlocked = "Blocked"
	// ReasonSkipped: the annotation to skip the cleanup was set.
	ReasonSkipped = "Skipped"
	// ReasonTimedOut: the cleanup took longer than its timeout.
	ReasonTimedOut = "TimedOut"
)
