// Package registration says what of an AIModel is registered where: which registry it means, which entries it has or may have,
// and what an entry shall say. It is pure, and must not call a registry or write to the cluster.
package registration

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// MaxPrevious is how many entries may wait for their cleanup before nothing new is registered.
const MaxPrevious = 32

// Settings are those of the operator.
type Settings struct {
	// Cluster is the identity of the cluster.
	Cluster string
	// Default is the registry of models that name none. Empty if there is none.
	Default types.NamespacedName
}

// RegistryOf returns the registry that the model shall be registered in; false if in none.
func (s Settings) RegistryOf(model *aiv1.AIModel) (types.NamespacedName, bool) {
	wanted := model.Spec.Registry
	switch {
	case wanted == nil:
		return types.NamespacedName{}, false
	case wanted.RegistryRef != nil:
		return types.NamespacedName{Namespace: model.Namespace, Name: wanted.RegistryRef.Name}, true
	default:
		return s.Default, s.Default.Name != ""
	}
}

// Registries lists the registries that the model uses, sorted: the one that it shall be registered in, and those where it has entries, or
// may have some.
func (s Settings) Registries(model *aiv1.AIModel) []types.NamespacedName {
	found := map[types.NamespacedName]bool{}
	if name, ok := s.RegistryOf(model); ok {
		found[name] = true
	}
	for _, record := range Records(model.Status.Registry) {
		found[RegistryName(record)] = true
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b types.NamespacedName) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
}

// Owner is the model as registries know it.
func (s Settings) Owner(model *aiv1.AIModel) registry.Owner {
	return registry.Owner{Cluster: s.Cluster, Namespace: model.Namespace, Name: model.Name, UID: model.UID}
}

// Wanted is the record of what shall be registered, without what only the registry knows. It needs spec.registry.
func (s Settings) Wanted(model *aiv1.AIModel, in types.NamespacedName) aiv1.Registration {
	name := model.Spec.Registry.RegisteredName
	if name == "" {
		name = model.Spec.ModelName
	}
	return aiv1.Registration{
		RegistryRef:    &aiv1.RegistrationRegistry{Namespace: in.Namespace, Name: in.Name},
		Key:            registry.NewKey(s.Owner(model), name, model.Spec.ModelVersion, in.Namespace, in.Name),
		Name:           name,
		ModelVersion:   model.Spec.ModelVersion,
		DeletionPolicy: model.Spec.Registry.DeletionPolicy,
	}
}

// RegistryName is the registry of a record.
func RegistryName(record aiv1.Registration) types.NamespacedName {
	if record.RegistryRef == nil {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: record.RegistryRef.Namespace, Name: record.RegistryRef.Name}
}

// Records lists all entries that are, or may be, in registries.
func Records(status *aiv1.RegistryStatus) []aiv1.Registration {
	if status == nil {
		return nil
	}
	var all []aiv1.Registration
	if status.Key != "" {
		all = append(all, status.Registration)
	}
	return append(all, status.Previous...)
}

// Advance returns the status that has wanted, or nothing, as its current registration. What was the current one before is among the
// previous ones then, and what is wanted again is not.
func Advance(status *aiv1.RegistryStatus, wanted *aiv1.Registration) *aiv1.RegistryStatus {
	next := &aiv1.RegistryStatus{}
	if status != nil {
		next = status.DeepCopy()
	}
	if wanted != nil && next.Key == wanted.Key {
		next.DeletionPolicy = wanted.DeletionPolicy
		return next
	}
	if next.Key != "" {
		next.Previous = append(next.Previous, next.Registration)
	}
	next.Registration = aiv1.Registration{}
	if wanted == nil {
		return next
	}
	next.Registration = *wanted.DeepCopy()
	for i := range next.Previous {
		if next.Previous[i].Key == wanted.Key {
			next.Registration = next.Previous[i]
			next.DeletionPolicy = wanted.DeletionPolicy
			next.Previous = slices.Delete(next.Previous, i, i+1)
			break
		}
	}
	return next
}

// Without returns the status without the record of a key. Nil if nothing is left.
func Without(status *aiv1.RegistryStatus, key string) *aiv1.RegistryStatus {
	next := status.DeepCopy()
	if next.Key == key {
		next.Registration = aiv1.Registration{}
	}
	next.Previous = slices.DeleteFunc(next.Previous, func(record aiv1.Registration) bool { return record.Key == key })
	if len(next.Previous) == 0 {
		next.Previous = nil
		if next.Key == "" {
			return nil
		}
	}
	return next
}

// Describe says what the entry of a record shall say of the model.
func (s Settings) Describe(model *aiv1.AIModel, record aiv1.Registration, servings []registry.Serving) registry.Registration {
	what := s.Identify(model, record)
	what.Servings = servings
	if source := model.Spec.Source; source != nil {
		what.SourceURI, what.SourceRevision = source.URI, source.Revision
	}
	if format := model.Spec.Format; format != nil {
		what.Format = format.Name
		if format.Version != "" {
			what.Format += " " + format.Version
		}
	}
	what.Description = describe(model)
	if wanted := model.Spec.Registry; wanted != nil {
		what.Tags = wanted.Tags
		what.Adoption = registry.AdoptionPolicy(wanted.AdoptionPolicy)
	}
	return what
}

// Identify says which entry a record means.
func (s Settings) Identify(model *aiv1.AIModel, record aiv1.Registration) registry.Registration {
	what := registry.Registration{
		Owner: s.Owner(model), Key: record.Key, Name: record.Name, Version: record.ModelVersion, Adoption: registry.AdoptNever,
	}
	if record.ID != "" {
		what.Known = &registry.Entry{
			Name: record.Name, ID: record.ID, Version: record.Version, URL: record.URL, Created: record.Created, Adopted: !record.Created,
		}
	}
	return what
}

func describe(model *aiv1.AIModel) string {
	text := "AIModel " + model.Namespace + "/" + model.Name
	if model.Spec.ModelType != "" {
		text += ", " + string(model.Spec.ModelType)
	}
	if model.Spec.ModelProvider != "" {
		text += ", from " + string(model.Spec.ModelProvider)
	}
	return text
}
