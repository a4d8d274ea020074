package render_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/naming"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/values"
)

// hostileStrings look like something else to YAML, to a template, to a shell or to Kubernetes.
var hostileStrings = []string{
	"", "true", "false", "yes", "no", "on", "off", "y", "n", "null", "~", "12", "012", "0x1F", "1_000", "1e3", "-.inf", ".nan",
	"2026-01-01", "1:30:00", "=", "<<", "!!str x", "&a", "*a", "|", ">", "- a", "a: b", "# x", "a #b", "{a: b}", "[a]", "{{ .x }}",
	"{{", "}}", "{{/* x */}}", "<no value>", "'", "\"", "\\", "\\n", "\n",
	"\r\n", "\n---\n", "\n...\n", "\t", " a ", "%d", "$(X)", "$$(X)", "$",
	"\x00", "\x07", "\x1b", "\x7f", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", "é", "日本語", "🙂",
	"<script>&amp;</script>", "@", "`", ",", "?", ": ", "a:", strings.Repeat("x", 5000), strings.Repeat("long text ", 500),
}

func FuzzHostileStrings(f *testing.F) {
	for _, s := range hostileStrings {
		f.Add(s)
	}
	r := newRenderer(f)
	f.Fuzz(func(t *testing.T, s string) {
		// The API server hands out nothing but valid UTF-8.
		if !utf8.ValidString(s) {
			t.Skip()
		}
		in := hostileInputs(t, s)
		built, err := values.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := r.Render("on", naming.InferenceServiceChild("true"), built)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		for _, obj := range objects {
			if obj.GetNamespace() != "on" {
				t.Errorf("%T: namespace %q", obj, obj.GetNamespace())
			}
		}
		checkHostile(t, deployment(t, objects).Spec.Template, s)
	})
}

func hostileInputs(t *testing.T, s string) resolve.Inputs {
	t.Helper()
	parameters := mustJSON(t, map[string]any{"value": s, "list": []any{s}})
	overlay := mustJSON(t, map[string]any{
		"podLabels":      map[string]any{"team": s},
		"podAnnotations": map[string]any{"note": s},
		"envFrom":        []any{map[string]any{"prefix": s, "configMapRef": map[string]any{"name": "c"}}},
	})
	return resolve.Inputs{
		Owner: resolve.Owner{
			Kind: resolve.KindInferenceService, Namespace: "on", Name: "true",
			ChildName: naming.InferenceServiceChild("true"), ModelObject: "null",
		},
		Model: resolve.Model{
			Name: "123", Version: s, Parameters: parameters,
			Source: &aiv1.ModelSource{URI: "https://" + s, Revision: s},
			Format: &aiv1.ModelFormat{Name: "12", Version: s},
		},
		Runtime: aiv1.Runtime{
			Name: aiv1.RuntimeCustom, Image: "image:1", Command: []string{s}, Args: []string{s, "-" + s, s + s},
			Env: []corev1.EnvVar{{Name: "USER_TEXT", Value: s}},
		},
		Replicas: 1,
		Placement: &aiv1.Placement{
			NodeSelector:      map[string]string{"plain": s, "on": "off"},
			Tolerations:       []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpEqual, Value: s}},
			PriorityClassName: "null",
		},
		ChartValues: overlay,
	}
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func checkHostile(t *testing.T, pod corev1.PodTemplateSpec, s string) {
	t.Helper()
	same := func(what, got, want string) {
		if got != want {
			t.Errorf("%s is %q, want %q", what, got, want)
		}
	}
	container := pod.Spec.Containers[0]
	same("label", pod.Labels["team"], s)
	same("annotation", pod.Annotations["note"], s)
	same("node selector", pod.Spec.NodeSelector["plain"], s)
	same("node selector", pod.Spec.NodeSelector["on"], "off")
	same("toleration", pod.Spec.Tolerations[0].Value, s)
	same("priority class", pod.Spec.PriorityClassName, "null")
	same("prefix", container.EnvFrom[0].Prefix, s)
	if !slices.Equal(container.Command, []string{s}) {
		t.Errorf("command is %q", container.Command)
	}
	if !slices.Equal(container.Args, []string{s, "-" + s, s + s}) {
		t.Errorf("args are %q", container.Args)
	}
	env := map[string]string{}
	for _, v := range container.Env {
		env[v.Name] = v.Value
	}
	same("user's variable", env["USER_TEXT"], s)
	same("MODEL_NAME", env["MODEL_NAME"], "123")
	for name, want := range map[string]string{
		"MODEL_VERSION": s, "MODEL_SOURCE_URI": "https://" + s, "MODEL_SOURCE_REVISION": s, "MODEL_FORMAT_VERSION": s,
	} {
		same(name, expand(env[name]), want)
	}
	var parameters struct {
		Value string
		List  []string
	}
	if err := json.Unmarshal([]byte(expand(env["MODEL_PARAMETERS"])), &parameters); err != nil {
		t.Fatal(err)
	}
	same("parameter", parameters.Value, s)
	same("parameter", parameters.List[0], s)
}

// expand does to the value of a variable what a kubelet does that knows none of the names in it, except that it marks
// every name it would have looked up.
func expand(value string) string {
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '$' || i+1 == len(value) {
			out.WriteByte(value[i])
			continue
		}
		i++
		switch value[i] {
		case '$':
			out.WriteByte('$')
		case '(':
			out.WriteString("EXPANDED(")
		default:
			out.WriteByte('$')
			out.WriteByte(value[i])
		}
	}
	return out.String()
}
