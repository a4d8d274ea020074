package v1

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestTheSchemeKnowsBothKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"AIModel", "AIModelList", "InferenceService", "InferenceServiceList"} {
		if !scheme.Recognizes(GroupVersion.WithKind(kind)) {
			t.Errorf("%s is not known", kind)
		}
	}
}

func TestBothKindsShareTheirStatus(t *testing.T) {
	type object interface {
		GetConditions() []metav1.Condition
		SetConditions([]metav1.Condition)
		GetServingStatus() *ServingStatus
	}
	for name, o := range map[string]object{"AIModel": &AIModel{}, "InferenceService": &InferenceService{}} {
		t.Run(name, func(t *testing.T) {
			want := []metav1.Condition{{Type: ConditionReady}}
			o.SetConditions(want)
			if diff := cmp.Diff(want, o.GetConditions()); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			o.GetServingStatus().Replicas = 3
			if o.GetServingStatus().Replicas != 3 {
				t.Error("the status is a copy")
			}
			data, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			// The scale subresource reads these even when they are zero.
			for _, field := range []string{`"replicas":3`, `"readyReplicas":0`, `"availableReplicas":0`} {
				if !strings.Contains(string(data), field) {
					t.Errorf("%s lacks %s", data, field)
				}
			}
		})
	}
}

func TestMarksArePrefixedByTheGroup(t *testing.T) {
	for _, name := range []string{LabelAIModel, LabelInferenceService, AnnotationPaused, AnnotationOwner, AnnotationApplied} {
		if !strings.HasPrefix(name, "ai.example.com/") {
			t.Errorf("%s does not begin with the group", name)
		}
	}
}

func TestReasonsAreDistinctAndDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	// What the API server takes as the type or the reason of a condition.
	valid := regexp.MustCompile(`^"[A-Z][A-Za-z]*"$`)
	seen := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		name := spec.Names[0].Name
		value, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || !valid.MatchString(value.Value) {
			t.Errorf("%s is no word in PascalCase", name)
			return true
		}
		if !strings.HasPrefix(name, "Condition") && !strings.HasPrefix(name, "Reason") {
			t.Errorf("%s is neither a condition nor a reason", name)
		}
		key := name[:6] + value.Value
		if other := seen[key]; other != "" {
			t.Errorf("%s and %s are one word", name, other)
		}
		seen[key] = name
		if !strings.HasPrefix(spec.Doc.Text(), name) {
			t.Errorf("%s has no sentence of its own", name)
		}
		return true
	})
	if len(seen) < 30 {
		t.Errorf("%d constants were found", len(seen))
	}
}
