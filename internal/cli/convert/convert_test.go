package convert

import (
	"bytes"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/clitest"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/files"
	"github.com/aimodel-operator/aimodel-operator/internal/manifest"
	"github.com/aimodel-operator/aimodel-operator/internal/render"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestConvertGolden(t *testing.T) {
	inputs, err := filepath.Glob("testdata/*.input.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, input := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(input), ".input.yaml"), func(t *testing.T) {
			converter := &Converter{}
			if err := files.Read([]string{input}, nil, converter.Add); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			for _, result := range converter.Convert() {
				fmt.Fprintf(&out, "# %s\n", result.Source)
				if result.Err != nil {
					fmt.Fprintf(&out, "# error: %v\n", result.Err)
				}
				for _, note := range result.Notes {
					fmt.Fprintf(&out, "# %s\n", note)
				}
				for _, object := range result.Objects {
					content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
					if err != nil {
						t.Fatal(err)
					}
					delete(content, "status")
					text, err := yaml.Marshal(content)
					if err != nil {
						t.Fatal(err)
					}
					fmt.Fprintf(&out, "---\n%s", text)
				}
				checkRenders(t, result)
			}
			if len(converter.Skipped) > 0 {
				fmt.Fprintf(&out, "# skipped: %s\n", converter.Skipped)
			}
			clitest.Golden(t, strings.Replace(input, ".input.", ".", 1), out.Bytes(), *update)
		})
	}
}

// checkRenders holds that the operator can render what came out, but for weights that its runtime cannot read.
func checkRenders(t *testing.T, result Result) {
	t.Helper()
	if result.Err != nil {
		return
	}
	model, isModel := result.Objects[0].(*aiv1.AIModel)
	service, isService := result.Objects[1].(*aiv1.InferenceService)
	if !isModel || !isService {
		t.Fatalf("%s became %T and %T", result.Source, result.Objects[0], result.Objects[1])
	}
	scheme, err := access.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	renderer, err := render.New()
	if err != nil {
		t.Fatal(err)
	}
	builder := manifest.Builder{Renderer: renderer, Scheme: scheme}
	if _, err := builder.Build("n", "x", metav1.OwnerReference{}, resolve.FromInferenceService(service, model, nil)); err != nil {
		t.Errorf("%s cannot be rendered: %v", result.Source, err)
	}
}

func TestNothingIsLostWithoutAWord(t *testing.T) {
	const text = `
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: m}
spec:
  predictor:
    somethingNew: {deep: 1, list: [a]}
    model: {modelFormat: {name: vllm}, somethingElse: x}
  unheardOf: true
`
	converter := &Converter{}
	if err := converter.Add([]byte(text)); err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(converter.Convert()[0].Notes, "\n")
	for _, path := range []string{"spec.predictor.somethingNew.deep", "spec.predictor.somethingNew.list", "spec.predictor.model.somethingElse", "spec.unheardOf"} {
		if !strings.Contains(notes, path+": ") {
			t.Errorf("nothing tells of %s:\n%s", path, notes)
		}
	}
}

func TestWhatIsWrittenWronglyIsToldWithItsPath(t *testing.T) {
	for path, text := range map[string]string{
		"spec.predictor.minReplicas": "{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: m}, spec: {predictor: {minReplicas: many, model: {modelFormat: {name: vllm}}}}}",
		"spec.replicas":              "{apiVersion: apps.nvidia.com/v1alpha1, kind: NIMService, metadata: {name: m}, spec: {image: {repository: a}, replicas: many}}",
	} {
		converter := &Converter{}
		if err := converter.Add([]byte(text)); err != nil {
			t.Fatal(err)
		}
		result := converter.Convert()[0]
		if result.Err == nil || !strings.Contains(result.Err.Error(), path) || len(result.Objects) > 0 {
			t.Errorf("%s: %v", path, result.Err)
		}
	}
}

func TestModelNames(t *testing.T) {
	for name, want := range map[string]string{"llama-3.1": "llama-3-1", "A": "a-model", "__x": "x-model", "é": "model", "already-good": "already-good"} {
		if got := modelName(name); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
}
