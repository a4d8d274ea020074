package render

import (
	"encoding/json"
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

const chartDir = "../../helm-charts/model-server"

func TestHelmLintIsClean(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"defaults":   nil,
		"everything": {"image": "a:1", "replicas": 3, "autoscaling": map[string]any{"maxReplicas": 5}, "accelerator": map[string]any{"count": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			result := lint.AllWithKubeVersionAndSchemaValidation(chartDir, values, "team-a", nil, false)
			for _, m := range result.Messages {
				if m.Severity > support.InfoSev {
					t.Error(m)
				}
			}
		})
	}
}

// forbidden are functions whose result depends on the cluster, the time, the environment or chance.
var forbidden = []string{
	"lookup", "getHostByName", "now", "date", "dateInZone", "dateModify", "ago", "htmlDate", "unixEpoch", "env",
	"expandenv", "uuidv4", "randAlpha", "randAlphaNum", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle",
	"genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
	"genPrivateKey", "buildCustomCert", "derivePassword", "bcrypt", "htpasswd", "encryptAES", "tpl", "toYaml", "fromYaml",
}

func TestForbiddenFunctionsAreUnknown(t *testing.T) {
	for _, function := range forbidden {
		if slices.Contains(allowedFunctions, function) {
			t.Errorf("%s is allowed", function)
		}
		loaded := mustLoad(t)
		loaded.Templates = append(loaded.Templates, &chart.File{
			Name: "templates/extra.yaml",
			Data: []byte("a: {{ " + function + " }}"),
		})
		if _, err := newRenderer(loaded); err == nil || !strings.Contains(err.Error(), "extra.yaml") {
			t.Errorf("a chart with %s is accepted: %v", function, err)
		}
	}
}

func TestTemplatesUseOnlyValuesAndRelease(t *testing.T) {
	action := regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	other := regexp.MustCompile(`(^|[\s($])\.(Capabilities|Chart|Files|Subcharts|Template)\b|\.Release\.(IsInstall|IsUpgrade|Revision)`)
	for _, tpl := range mustLoad(t).Templates {
		for _, text := range action.FindAllString(string(tpl.Data), -1) {
			if other.MatchString(text) {
				t.Errorf("%s: %s would change with the release or the chart's version", tpl.Name, text)
			}
		}
	}
}

func TestPresetsStayOutOfTheChart(t *testing.T) {
	loaded, err := loader.LoadDir(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range slices.Concat(loaded.Files, loaded.Templates) {
		if strings.HasPrefix(f.Name, "presets/") {
			t.Errorf("%s is part of the chart", f.Name)
		}
	}
}

func TestEveryKindHasItsTemplate(t *testing.T) {
	files, err := manifests(mustLoad(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range files {
		if m.kind.gvk != Kinds()[i] {
			t.Errorf("%s renders %s, want %s", m.file, m.kind.gvk, Kinds()[i])
		}
	}
	if len(files) != len(Kinds()) {
		t.Errorf("%d templates render %d kinds", len(files), len(Kinds()))
	}
}

func TestBadTemplatesAreTold(t *testing.T) {
	const service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: x\n"
	for name, tc := range map[string]struct{ template, want string }{
		"no kind":        {"a: b", "has 0 pairs"},
		"two documents":  {service + "---\n" + service, "has 2 pairs"},
		"kind unknown":   {"apiVersion: v1\nkind: Pod\n", "/v1, Kind=Pod"},
		"kind twice":     {service, "second template of its kind"},
		"does not parse": {service + "{{ if }}", "missing value for if"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := mustLoad(t)
			loaded.Templates = append(loaded.Templates, &chart.File{Name: "templates/z.yaml", Data: []byte(tc.template)})
			if _, err := newRenderer(loaded); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "z.yaml") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestBadOutputIsTold(t *testing.T) {
	for name, tc := range map[string]struct{ template, want string }{
		"unknown field":   {"spec: {replica: 1}", `unknown field "spec.replica"`},
		"wrong case":      {"spec: {Replicas: 1}", `unknown field "spec.Replicas"`},
		"duplicate field": {"spec:\n  type: A\n  type: B", `duplicate field "spec.type"`},
		"wrong type":      {"spec: {ports: 1}", "ports"},
		"two documents":   {"spec: {}\n---\na: b", "more than one object"},
		"no YAML":         {"spec: [", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := mustLoad(t)
			for _, f := range loaded.Templates {
				if strings.HasSuffix(f.Name, "/service.yaml") {
					f.Data = []byte("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n" + tc.template)
				}
			}
			r, err := newRenderer(loaded)
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Render("n", "x", map[string]any{"image": "a:1"})
			var decode *DecodeError
			if !errors.As(err, &decode) || !strings.Contains(err.Error(), tc.want) ||
				!strings.Contains(err.Error(), "service.yaml: Service") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestEveryValueIsCommentedAndInTheSchema(t *testing.T) {
	loaded := mustLoad(t)
	var raw []byte
	for _, f := range loaded.Raw {
		if path.Base(f.Name) == "values.yaml" {
			raw = f.Data
		}
	}
	var document yaml.Node
	if err := yaml.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(loaded.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	compareWithSchema(t, "", document.Content[0], schema)
}

// compareWithSchema checks that a map of values and its schema have the same keys, each with a comment, a title and a
// description, down to the last level.
func compareWithSchema(t *testing.T, at string, values *yaml.Node, schema map[string]any) {
	t.Helper()
	properties, _ := schema["properties"].(map[string]any)
	strict := isStrict(schema)
	if strict {
		for name := range maps.Keys(properties) {
			known := slices.ContainsFunc(keysOf(values), func(k *yaml.Node) bool { return k.Value == name })
			if !known && at != "resources." && at != "disruption." {
				t.Errorf("%s%s is in the schema, but not in values.yaml", at, name)
			}
		}
	}
	for i, key := range keysOf(values) {
		name := at + key.Value
		if key.HeadComment == "" {
			t.Errorf("%s has no comment in values.yaml", name)
		}
		property, ok := properties[key.Value].(map[string]any)
		if !ok {
			t.Errorf("%s is not in the schema", name)
			continue
		}
		for _, text := range []string{"title", "description"} {
			if property[text] == nil {
				t.Errorf("%s has no %s in the schema", name, text)
			}
		}
		if value := values.Content[2*i+1]; value.Kind == yaml.MappingNode {
			compareWithSchema(t, name+".", value, property)
		}
	}
}

// isStrict says whether a schema refuses unknown values.
func isStrict(schema map[string]any) bool {
	others, given := schema["additionalProperties"].(bool)
	return given && !others
}

func keysOf(m *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for i := 0; i < len(m.Content); i += 2 {
		out = append(out, m.Content[i])
	}
	return out
}

func TestEveryValueIsInSomeCase(t *testing.T) {
	seen := map[string]bool{}
	for _, values := range valuesCases(t) {
		leaves("", values, seen)
	}
	all := map[string]bool{}
	leaves("", mustLoad(t).Values, all)
	// These are for plain Helm only.
	delete(all, "nameOverride")
	delete(all, "global")
	for name := range all {
		if !seen[name] {
			t.Errorf("no golden case sets %s", name)
		}
	}
}

// leaves gathers the path of every value that is not a map with fixed keys, and of every map.
func leaves(at string, values map[string]any, into map[string]bool) {
	for key, value := range values {
		into[at+key] = true
		if inner, ok := value.(map[string]any); ok {
			leaves(at+key+".", inner, into)
		}
	}
}

func TestSchemaIsStrict(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(mustLoad(t).Schema, &schema); err != nil {
		t.Fatal(err)
	}
	if !isStrict(schema) {
		t.Error("unknown values are accepted")
	}
	// These are handed on to Kubernetes as they are, or carry names of the user's.
	free := []string{"affinity", "global", "nodeSelector", "podAnnotations", "podLabels", "podSecurityContext", "securityContext"}
	for name, property := range schema["properties"].(map[string]any) {
		p := property.(map[string]any)
		if p["type"] == "object" && !isStrict(p) && !slices.Contains(free, name) {
			t.Errorf("%s accepts unknown values", name)
		}
	}
}
