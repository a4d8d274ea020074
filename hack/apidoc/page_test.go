package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const goTypes = `package v1

import corev1 "k8s.io/api/core/v1"

// Widget is a thing.
// +kubebuilder:object:root=true
type Widget struct {
	Spec   WidgetSpec   ` + "`json:\"spec\"`" + `
	Status WidgetStatus ` + "`json:\"status\"`" + `
}

// WidgetSpec says what is wanted.
type WidgetSpec struct {
	Size  *int32          ` + "`json:\"size,omitempty\"`" + `
	Parts []Part          ` + "`json:\"parts\"`" + `
	Env   []corev1.EnvVar ` + "`json:\"env,omitempty\"`" + `
}

// Part is a part.
type Part struct {
	Name string ` + "`json:\"name\"`" + `
}

// WidgetStatus says what is.
type WidgetStatus struct {
	Shared ` + "`json:\",inline\"`" + `
}

type Shared struct {
	Count int32 ` + "`json:\"count\"`" + `
}

const group = "example.org"

// Reasons of ConditionReady.
const (
	// ReasonDone: nothing is left to do, so ConditionReady is true.
	ReasonDone = "Done"
)

// ConditionReady sums up.
const ConditionReady = "Ready"

// LabelOwner names the owner.
const LabelOwner = group + "/owner"
`

const crd = `
spec:
  group: example.org
  scope: Namespaced
  names: {kind: Widget, plural: widgets, shortNames: [wd]}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec:
            required: [parts]
            x-kubernetes-validations:
            - {rule: "size(self.parts) > 0", message: needs a part, fieldPath: .parts}
            properties:
              size: {type: integer, default: 3, minimum: 1, maximum: 9, description: "size is\na|b"}
              parts:
                type: array
                maxItems: 4
                x-kubernetes-list-map-keys: [name]
                items: {type: object, properties: {name: {type: string, pattern: "^(a|b)$"}}}
              env: {type: array, items: {type: object, properties: {name: {type: string}}}}
          status:
            properties:
              count: {type: integer}
`

func TestPage(t *testing.T) {
	t.Parallel()
	page := write(t, goTypes, crd)
	for _, want := range []string{
		"## Widget\n\nWidget is a thing.\n",
		"`kubectl get widgets`, or `wd` for short",
		"| `size` | integer |  | `3` | 1 to 9 | size is a\\|b |\n",
		"| `parts` | [[]Part](#part) | yes |  | at most 4 items; one item for each `name` |  |\n",
		"| `env` | [[]EnvVar](https://pkg.go.dev/k8s.io/api/core/v1#EnvVar) |",
		"- `parts`: needs a part\n\n  ```\n  size(self.parts) > 0\n",
		"### Part\n\nPart is a part.\n",
		"| `name` | string |  |  | matches `^(a\\|b)$` |",
		"| `count` | integer |",
		"Reasons of `Ready`.\n",
		"| `Done` | nothing is left to do, so `Ready` is true. |",
		"| `Ready` | sums up. |",
		"| `example.org/owner` | names the owner. |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "kubebuilder") {
		t.Errorf("the page shows markers:\n%s", page)
	}
	if again := write(t, goTypes, crd); again != page {
		t.Error("two runs gave different pages")
	}
}

func TestPageRefusesStaleDefinitions(t *testing.T) {
	t.Parallel()
	stale := strings.Replace(crd, "count: {type: integer}", "total: {type: integer}", 1)
	dir := sources(t, goTypes, stale)
	err := run(dir, dir, filepath.Join(dir, "page.md"))
	if err == nil || !strings.Contains(err.Error(), "no field count") {
		t.Errorf("error = %v, want one that names the field", err)
	}
}

func sources(t *testing.T, types, definition string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"types.go": types, "crd.yaml": definition} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t *testing.T, types, definition string) string {
	t.Helper()
	dir := sources(t, types, definition)
	out := filepath.Join(dir, "page.md")
	if err := run(dir, dir, out); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
