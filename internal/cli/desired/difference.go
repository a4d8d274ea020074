package desired

import (
	"context"
	"fmt"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
)

// contextLines is how many unchanged lines surround a change.
const contextLines = 3

// Difference is how one object in the cluster differs from what the operator would apply.
type Difference struct {
	Kind, Name string
	// Text is a unified difference, from what is there to what would be.
	Text string
}

// Compare tells how the cluster differs from what was made, as far as the operator owns it. Nothing: it does not.
func (m *Maker) Compare(ctx context.Context, reader client.Reader, made *Made) ([]Difference, error) {
	if err := m.chooseRollout(ctx, reader, made); err != nil {
		return nil, err
	}
	var differences []Difference
	for _, object := range made.Objects {
		difference, err := compare(ctx, reader, made, object)
		if err != nil {
			return nil, err
		}
		if difference != nil {
			differences = append(differences, *difference)
		}
	}
	gone, err := superfluous(ctx, reader, made)
	return append(differences, gone...), err
}

// chooseRollout takes what lets a single replica make room for its successor, if that is what the operator applied last.
func (m *Maker) chooseRollout(ctx context.Context, reader client.Reader, made *Made) error {
	if made.inputs == nil || made.inputs.Accelerator == nil {
		return nil
	}
	inputs := *made.inputs
	inputs.ReplaceInPlace = true
	objects, err := m.build(made.Owner, inputs)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GVK.Kind != "Deployment" {
			continue
		}
		live, err := get(ctx, reader, object.GVK, object.Namespace, object.Name)
		if err != nil {
			return err
		}
		if live != nil && apply.IsLatest(live, object) {
			made.Objects = objects
		}
	}
	return nil
}

func get(
	ctx context.Context, reader client.Reader, gvk schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(gvk)
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, live)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return live, nil
}

func compare(ctx context.Context, reader client.Reader, made *Made, object apply.Object) (*Difference, error) {
	live, err := get(ctx, reader, object.GVK, object.Namespace, object.Name)
	if err != nil {
		return nil, fmt.Errorf("read %s %q: %w", object.GVK.Kind, object.Name, err)
	}
	difference := &Difference{Kind: object.GVK.Kind, Name: object.Name}
	want := object.Manifest()
	if made.Owner.GetUID() == "" {
		forgetIdentity(want)
	}
	unstructured.RemoveNestedField(want.Object, "metadata", "annotations", aiv1.AnnotationApplied)
	switch {
	case live == nil:
		difference.Text, err = unified(*difference, nil, want.Object)
	case !metav1.IsControlledBy(live, made.Owner):
		difference.Text = fmt.Sprintf("%s/%s belongs to somebody else, so the operator leaves it as it is\n", difference.Kind, difference.Name)
	default:
		difference.Text, err = unified(*difference, owned(live, want.Object), want.Object)
	}
	if err != nil || difference.Text == "" {
		return nil, err
	}
	return difference, nil
}

// superfluous tells of what the operator keeps and would not render.
func superfluous(ctx context.Context, reader client.Reader, made *Made) ([]Difference, error) {
	var differences []Difference
	kept := map[aiv1.InventoryEntry]bool{}
	for _, entry := range apply.Inventory(made.Objects) {
		kept[entry] = true
	}
	for _, entry := range made.Owner.GetServingStatus().Inventory {
		if kept[entry] {
			continue
		}
		gvk := schema.FromAPIVersionAndKind(entry.APIVersion, entry.Kind)
		live, err := get(ctx, reader, gvk, made.Owner.GetNamespace(), entry.Name)
		if err != nil {
			return nil, fmt.Errorf("read %s %q: %w", entry.Kind, entry.Name, err)
		}
		if live == nil || !metav1.IsControlledBy(live, made.Owner) {
			continue
		}
		difference := Difference{Kind: entry.Kind, Name: entry.Name}
		if difference.Text, err = unified(difference, owned(live, nil), nil); err != nil {
			return nil, err
		}
		differences = append(differences, difference)
	}
	return differences, nil
}

// unified compares two objects as YAML. Empty when they are equal.
func unified(of Difference, live, want map[string]any) (string, error) {
	before, err := lines(live)
	if err != nil {
		return "", err
	}
	after, err := lines(want)
	if err != nil {
		return "", err
	}
	name := of.Kind + "/" + of.Name
	diff := difflib.UnifiedDiff{A: before, B: after, FromFile: "live " + name, ToFile: "rendered " + name, Context: contextLines}
	if live == nil {
		diff.FromFile = "/dev/null"
	}
	if want == nil {
		diff.ToFile = "/dev/null"
	}
	text, err := difflib.GetUnifiedDiffString(diff)
	if err != nil {
		return "", fmt.Errorf("compare %s: %w", name, err)
	}
	return text, nil
}

func lines(object map[string]any) ([]string, error) {
	if object == nil {
		return nil, nil
	}
	prune(object)
	data, err := yaml.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n"), nil
}

// prune drops what the API server may store as nothing: empty objects and lists.
func prune(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if prune(inner) && key != "emptyDir" {
				delete(v, key)
			}
		}
		return len(v) == 0
	case []any:
		for _, inner := range v {
			prune(inner)
		}
		return len(v) == 0
	}
	return value == nil
}
