package render_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/environment"
	"github.com/aimodel-operator/aimodel-operator/internal/render"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/values"
)

var update = flag.Bool("update", false, "write the golden files anew")

const inputSuffix = ".input.yaml"

// golden is one case of testdata: NAME.input.yaml holds an AIModel, an InferenceService when that is what is rendered, the
// Secret of the model when it has one, and variables of the operator where they matter.
type golden struct {
	name   string
	inputs resolve.Inputs
	values map[string]any
}

func goldens(tb testing.TB) []golden {
	tb.Helper()
	files, err := filepath.Glob("testdata/*" + inputSuffix)
	if err != nil {
		tb.Fatal(err)
	}
	out := make([]golden, len(files))
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), inputSuffix)
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		inputs := readInputs(tb, data)
		built, err := values.Build(inputs)
		if err != nil {
			tb.Fatalf("%s: build values: %v", name, err)
		}
		out[i] = golden{name: name, inputs: inputs, values: built}
	}
	return out
}

func readInputs(tb testing.TB, data []byte) resolve.Inputs {
	tb.Helper()
	var model *aiv1.AIModel
	var service *aiv1.InferenceService
	var credentials *resolve.Credentials
	var site resolve.Site
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		var head struct {
			Kind string `json:"kind"`
		}
		mustRead(tb, yaml.Unmarshal(document, &head))
		switch head.Kind {
		case "AIModel":
			model = &aiv1.AIModel{}
			mustRead(tb, yaml.UnmarshalStrict(document, model))
		case "InferenceService":
			service = &aiv1.InferenceService{}
			mustRead(tb, yaml.UnmarshalStrict(document, service))
		case "Secret":
			secret := &corev1.Secret{}
			mustRead(tb, yaml.UnmarshalStrict(document, secret))
			credentials = &resolve.Credentials{
				SecretName: secret.Name,
				ImagePull:  secret.Type == corev1.SecretTypeDockerConfigJson,
				Keys:       slices.Sorted(maps.Keys(secret.StringData)),
			}
		case "Environment":
			var of struct {
				Variables map[string]string `json:"variables"`
			}
			mustRead(tb, yaml.Unmarshal(document, &of))
			found, err := environment.Of(of.Variables)
			mustRead(tb, err)
			site = found.Site
		default:
			tb.Fatalf("unexpected kind %q", head.Kind)
		}
	}
	if model.Namespace == "" {
		model.Namespace = "default"
	}
	inputs := resolve.FromAIModel(model, credentials)
	if service != nil {
		if service.Namespace == "" {
			service.Namespace = "default"
		}
		inputs = resolve.FromInferenceService(service, model, credentials)
	}
	inputs.Site = site
	return inputs
}

func mustRead(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func newRenderer(tb testing.TB) *render.Renderer {
	tb.Helper()
	r, err := render.New()
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func renderGolden(tb testing.TB, r *render.Renderer, g golden) []client.Object {
	tb.Helper()
	objects, err := r.Render(g.inputs.Owner.Namespace, g.inputs.Owner.ChildName, g.values)
	if err != nil {
		tb.Fatalf("%s: %v", g.name, err)
	}
	return objects
}

func toYAML(tb testing.TB, objects []client.Object) []byte {
	tb.Helper()
	var out bytes.Buffer
	for i, obj := range objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		data, err := yaml.Marshal(obj)
		if err != nil {
			tb.Fatal(err)
		}
		out.Write(data)
	}
	return out.Bytes()
}

func TestGolden(t *testing.T) {
	r := newRenderer(t)
	cases := goldens(t)
	if len(cases) < 28 {
		t.Errorf("only %d golden cases", len(cases))
	}
	for _, g := range cases {
		t.Run(g.name, func(t *testing.T) {
			got := toYAML(t, renderGolden(t, r, g))
			file := filepath.Join("testdata", g.name+".yaml")
			// The values are kept too: other tests give them to Helm, and an unwanted change shows where it came from.
			valuesFile := filepath.Join("testdata", "values", g.name+".yaml")
			built, err := yaml.Marshal(g.values)
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				write(t, file, got)
				write(t, valuesFile, built)
				return
			}
			compare(t, "rendered objects", file, got)
			compare(t, "values", valuesFile, built)
		})
	}
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, what, file string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s changed (-want +got), run the test with -update if that is meant:\n%s", what, diff)
	}
}
