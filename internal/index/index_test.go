package index

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

func TestOwnerOfPod(t *testing.T) {
	name := map[string]string{aiv1.AnnotationOwner: "a.long.name"}
	for what, tc := range map[string]struct {
		labels, annotations map[string]string
		wantKind, wantName  string
	}{
		"of a service":          {map[string]string{aiv1.LabelInferenceService: "x", aiv1.LabelAIModel: "y"}, name, "InferenceService", "a.long.name"},
		"of a model":            {map[string]string{aiv1.LabelAIModel: "y"}, name, "AIModel", "a.long.name"},
		"without the name":      {map[string]string{aiv1.LabelAIModel: "y"}, nil, "", ""},
		"without a label":       {nil, name, "", ""},
		"with neither":          {nil, nil, "", ""},
		"with empty labels":     {map[string]string{aiv1.LabelAIModel: ""}, name, "", ""},
		"with an empty name":    {map[string]string{aiv1.LabelAIModel: "y"}, map[string]string{aiv1.AnnotationOwner: ""}, "", ""},
		"with a foreign's mark": {map[string]string{"app": "x"}, name, "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: tc.labels, Annotations: tc.annotations}}
			if kind, name := OwnerOfPod(pod); kind != tc.wantKind || name != tc.wantName {
				t.Errorf("owner = %q %q, want %q %q", kind, name, tc.wantKind, tc.wantName)
			}
		})
	}
}

// indexer remembers what is registered, and may fail.
type indexer struct {
	fail  string
	funcs map[string]client.IndexerFunc
}

func (i *indexer) IndexField(_ context.Context, _ client.Object, field string, f client.IndexerFunc) error {
	if field == i.fail {
		return errors.New("no")
	}
	i.funcs[field] = f
	return nil
}

func uses(model *aiv1.AIModel) []types.NamespacedName {
	return []types.NamespacedName{{Namespace: model.Namespace, Name: "registry"}}
}

func TestRegister(t *testing.T) {
	got := &indexer{funcs: map[string]client.IndexerFunc{}}
	if err := Register(t.Context(), got, uses); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Labels: map[string]string{aiv1.LabelAIModel: "llama"}, Annotations: map[string]string{aiv1.AnnotationOwner: "llama"}}}
	svc := &aiv1.InferenceService{Spec: aiv1.InferenceServiceSpec{ModelRef: aiv1.ModelReference{Name: "llama"}}}
	for name, tc := range map[string]struct {
		field  string
		object client.Object
		want   []string
	}{
		"a service, by its model":      {ModelRef, svc, []string{"llama"}},
		"something else, by its model": {ModelRef, pod, nil},
		"a pod, by what it serves":     {PodOwner, pod, []string{PodOwnerKey("AIModel", "llama")}},
		"a model, by its registries":   {Registry, &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a"}}, []string{"team-a/registry"}},
		"something else, by those":     {Registry, pod, nil},
		"a foreign pod":                {PodOwner, &corev1.Pod{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, got.funcs[tc.field](tc.object)); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
	for _, field := range []string{ModelRef, PodOwner, Registry} {
		if err := Register(t.Context(), &indexer{fail: field, funcs: map[string]client.IndexerFunc{}}, uses); err == nil {
			t.Errorf("%s cannot be indexed, and that is not told", field)
		}
	}
}
