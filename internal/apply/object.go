package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// The two ways in which an object came to carry its digest; see managed.go.
const (
	createdPrefix = "created:"
	appliedPrefix = "applied:"
)

// Object is one rendered object, ready to be compared with the live one and sent. It is read-only once prepared, and small,
// because the objects of every owner are remembered.
type Object struct {
	GVK       schema.GroupVersionKind
	Namespace string
	Name      string

	// encoded is its JSON: as maps it would take several times the memory.
	encoded []byte
	digest  string
}

// Prepare turns a rendered object into an Object that is controlled by owner. The result holds only fields that were
// rendered: no nulls and no status.
func Prepare(rendered client.Object, owner metav1.OwnerReference, scheme *runtime.Scheme) (Object, error) {
	gvk, err := apiutil.GVKForObject(rendered, scheme)
	if err != nil {
		return Object{}, fmt.Errorf("find the kind of %T: %w", rendered, err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rendered)
	if err != nil {
		return Object{}, fmt.Errorf("convert %s %q: %w", gvk.Kind, rendered.GetName(), err)
	}
	delete(content, "status")
	dropNulls(content)
	u := unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(gvk)
	u.SetOwnerReferences([]metav1.OwnerReference{owner})

	encoded, err := json.Marshal(content)
	if err != nil {
		return Object{}, fmt.Errorf("encode %s %q: %w", gvk.Kind, rendered.GetName(), err)
	}
	sum := sha256.Sum256(encoded)
	return Object{
		GVK:       gvk,
		Namespace: rendered.GetNamespace(),
		Name:      rendered.GetName(),
		encoded:   encoded,
		digest:    hex.EncodeToString(sum[:16]),
	}, nil
}

// entry is the object's line in the inventory of its owner.
func (o Object) entry() aiv1.InventoryEntry {
	return aiv1.InventoryEntry{APIVersion: o.GVK.GroupVersion().String(), Kind: o.GVK.Kind, Name: o.Name}
}

func (o Object) key() types.NamespacedName {
	return types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
}

// content is a copy of all that was rendered.
func (o Object) content() map[string]any {
	var content map[string]any
	if err := json.Unmarshal(o.encoded, &content); err != nil {
		panic(fmt.Sprintf("what was encoded cannot be decoded: %v", err))
	}
	return content
}

// request is a copy of the object as it is sent, marked with how it is sent.
func (o Object) request(prefix string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: o.content()}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[aiv1.AnnotationApplied] = prefix + o.digest
	u.SetAnnotations(annotations)
	return u
}

// Manifest is a copy of the object as it is created.
func (o Object) Manifest() *unstructured.Unstructured { return o.request(createdPrefix) }

// dropNulls removes nulls in maps: typed objects encode some unset fields as null, and a null in a server-side
// apply would claim the field.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if inner == nil {
				delete(v, key)
				continue
			}
			dropNulls(inner)
		}
	case []any:
		for _, inner := range v {
			dropNulls(inner)
		}
	}
}
