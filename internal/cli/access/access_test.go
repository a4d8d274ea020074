package access_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/clitest"
)

func model(name, image string) *aiv1.AIModel {
	return &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, Spec: aiv1.AIModelSpec{Image: image}}
}

func service(name string) *aiv1.InferenceService {
	return &aiv1.InferenceService{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
}

func TestFind(t *testing.T) {
	reader := clitest.Client(t, model("entry", ""), service("entry"), model("both", "a:1"), service("both"), model("alone", "a:1"))
	for argument, tc := range map[string]struct{ kind, err string }{
		"alone":                             {kind: "AIModel"},
		"aim/alone":                         {kind: "AIModel"},
		"entry":                             {kind: "InferenceService"},
		"aimodels.ai.example.com/entry":     {kind: "AIModel"},
		"InferenceService/entry":            {kind: "InferenceService"},
		"both":                              {err: "both run something: write infsvc/both or aim/both"},
		"infsvc/both":                       {kind: "InferenceService"},
		"infsvc/alone":                      {err: `there is no InferenceService "alone" in namespace "n"; there are aim/both, aim/entry, alone, both, entry`},
		"pod/alone":                         {err: `"pod" is neither an AIModel nor an InferenceService`},
		"inferenceservices.kserve.io/entry": {err: `is neither an AIModel nor an InferenceService`},
		"aim/":                              {err: "has no name"},
	} {
		t.Run(argument, func(t *testing.T) {
			object, err := access.Find(t.Context(), reader, "n", argument)
			switch {
			case tc.err != "":
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want %q", err, tc.err)
				}
			case err != nil:
				t.Error(err)
			case access.KindOf(object) != tc.kind:
				t.Errorf("found an %s", access.KindOf(object))
			}
		})
	}
}

func TestNothingToFind(t *testing.T) {
	_, err := access.Find(t.Context(), clitest.Client(t), "n", "x")
	if !errors.Is(err, access.ErrNotFound) || !strings.Contains(err.Error(), "kubectl aimodel status -A") {
		t.Error(err)
	}
}

func TestExplain(t *testing.T) {
	resource := schema.GroupResource{Group: aiv1.Group, Resource: "aimodels"}
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"a kind that is not served":  {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: aiv1.Group, Kind: "AIModel"}}, "install the operator there first"},
		"a path that is not served":  {apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{}, "", "", 0, true), "install the operator there first"},
		"an object that is not":      {apierrors.NewNotFound(resource, "x"), `aimodels.ai.example.com "x" not found`},
		"a permission that is not":   {apierrors.NewForbidden(resource, "x", errors.New("no")), "Ask for that permission"},
		"credentials that are wrong": {apierrors.NewUnauthorized("no"), "log in anew"},
		"anything else":              {errors.New("as it is"), "as it is"},
	} {
		t.Run(name, func(t *testing.T) {
			got := access.Explain(tc.err)
			if !strings.Contains(got.Error(), tc.want) || !errors.Is(got, tc.err) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if access.Explain(nil) != nil || !errors.Is(access.Explain(context.Canceled), context.Canceled) {
		t.Error("what needs no words got some")
	}
}

func TestPodsOfAnInferenceServiceDoNotServeItsModel(t *testing.T) {
	pod := model("pod", "")
	pod.Labels = map[string]string{aiv1.LabelAIModel: "x", aiv1.LabelInferenceService: "x"}
	pod.Annotations = map[string]string{aiv1.AnnotationOwner: "x"}
	var any client.Object = pod
	if access.Serves(any, model("x", "a:1")) || !access.Serves(any, service("x")) {
		t.Error("the pod was taken for one of the model's own")
	}
}
