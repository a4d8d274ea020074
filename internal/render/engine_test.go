package render

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// mustLoad returns the embedded chart, and Helm's rendering of it.
func mustLoad(tb testing.TB) *chart.Chart {
	tb.Helper()
	loaded, err := loadChart()
	if err != nil {
		tb.Fatal(err)
	}
	return loaded
}

func helmRender(tb testing.TB, loaded *chart.Chart, namespace, name string, values map[string]any) (map[string]string, error) {
	tb.Helper()
	data, err := chartutil.ToRenderValues(loaded, values, chartutil.ReleaseOptions{Name: name, Namespace: namespace}, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(loaded, data)
}

func ownRender(tb testing.TB, r *Renderer, namespace, name string, values map[string]any) map[string]string {
	tb.Helper()
	out := map[string]string{}
	data := templateData(namespace, name, withDefaults(r.defaults, values))
	for _, m := range r.manifests {
		var text bytes.Buffer
		if err := r.templates.ExecuteTemplate(&text, m.file, data); err != nil {
			tb.Fatal(err)
		}
		out["model-server/"+m.file] = string(dropNoValue(text.Bytes()))
	}
	return out
}

// valuesCases are values for the chart as such: all that the operator builds in the golden cases, written down beside
// them, and what people give to plain Helm.
func valuesCases(tb testing.TB) map[string]map[string]any {
	tb.Helper()
	files, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(files) < 28 {
		tb.Fatalf("%d files of values, error %v: run the golden test with -update", len(files), err)
	}
	out := map[string]map[string]any{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		var values map[string]any
		if err := yaml.Unmarshal(data, &values); err != nil {
			tb.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(file), ".yaml")] = values
	}
	return out
}

func TestTemplatesRenderAsHelmRendersThem(t *testing.T) {
	loaded := mustLoad(t)
	r, err := newRenderer(loaded)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range valuesCases(t) {
		t.Run(name, func(t *testing.T) {
			want, err := helmRender(t, loaded, "team-a", "a-release", values)
			if err != nil {
				t.Fatal(err)
			}
			delete(want, "model-server/templates/NOTES.txt")
			got := ownRender(t, r, "team-a", "a-release", values)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("differs from Helm (-helm +own):\n%s", diff)
			}
		})
	}
}

func TestDefaultsMergeAsHelmMergesThem(t *testing.T) {
	loaded := mustLoad(t)
	cases := valuesCases(t)
	cases["nothing"] = map[string]any{}
	cases["null for a map"] = map[string]any{"drain": nil, "image": nil}
	cases["null in a map"] = map[string]any{"drain": map[string]any{"seconds": nil}, "affinity": map[string]any{"nodeAffinity": nil}}
	cases["text for a map"] = map[string]any{"drain": "on"}
	cases["a map for a text"] = map[string]any{"image": map[string]any{"tag": "1"}}
	cases["unknown"] = map[string]any{"foo": map[string]any{"bar": nil}, "baz": nil}
	for name, values := range cases {
		t.Run(name, func(t *testing.T) {
			want, err := chartutil.CoalesceValues(loaded, values)
			if err != nil {
				t.Fatal(err)
			}
			got := withDefaults(loaded.Values, values)
			if diff := cmp.Diff(want.AsMap(), got); diff != "" {
				t.Errorf("differs from Helm (-helm +own):\n%s", diff)
			}
		})
	}
}

func TestSchemaAgreesWithHelm(t *testing.T) {
	loaded := mustLoad(t)
	r, err := newRenderer(loaded)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string]map[string]any{
		"valid":   {"image": "a:1"},
		"invalid": {"image": 7.0},
		"unknown": {"imagee": "a:1"},
		"null":    {"image": "a:1", "drain": nil},
	} {
		t.Run(name, func(t *testing.T) {
			merged := withDefaults(loaded.Values, values)
			helm := chartutil.ValidateAgainstSchema(loaded, merged)
			own := validate(r.schema, merged)
			if (helm == nil) != (own == nil) {
				t.Errorf("Helm says %v, we say %v", helm, own)
			}
		})
	}
}

func TestRenderingChangesNoArgument(t *testing.T) {
	loaded := mustLoad(t)
	r, err := newRenderer(loaded)
	if err != nil {
		t.Fatal(err)
	}
	defaults := deepCopy(r.defaults)
	for name, values := range valuesCases(t) {
		before := deepCopy(values)
		if _, err := r.Render("team-a", "a-release", values); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(before, values) {
			t.Errorf("%s: the values changed: %s", name, cmp.Diff(before, values))
		}
		if !reflect.DeepEqual(defaults, r.defaults) {
			t.Fatalf("%s: the defaults changed: %s", name, cmp.Diff(defaults, r.defaults))
		}
	}
}

func deepCopy(in any) any {
	switch v := in.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = deepCopy(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = deepCopy(value)
		}
		return out
	}
	return in
}

func TestPlainHelmNeedsNoOperator(t *testing.T) {
	loaded := mustLoad(t)
	out, err := helmRender(t, loaded, "team-a", "web", map[string]any{
		"image":       "a:1",
		"autoscaling": map[string]any{"maxReplicas": 3},
		"model":       map[string]any{"parameters": map[string]any{"a": "<$>"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	deployment := out["model-server/templates/deployment.yaml"]
	hpa := out["model-server/templates/hpa.yaml"]
	for what, ok := range map[string]bool{
		"Helm manages the objects":            strings.Contains(deployment, `app.kubernetes.io/managed-by: "Helm"`),
		"the autoscaler owns the replicas":    !strings.Contains(deployment, "\n  replicas:"),
		"the autoscaler has a target":         strings.Contains(hpa, "kind: \"Deployment\"\n    name: \"web\""),
		"no owner is named":                   !strings.Contains(deployment, "ai.example.com/"),
		"parameters may be written as values": strings.Contains(deployment, `"{\"a\":\"\\u003c$$\\u003e\"}"`),
	} {
		if !ok {
			t.Errorf("not so: %s\n%s\n%s", what, deployment, hpa)
		}
	}
	if _, err := helmRender(t, loaded, "team-a", "web", nil); err == nil || !strings.Contains(err.Error(), "image is required") {
		t.Errorf("without an image: %v", err)
	}
}
