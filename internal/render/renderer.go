package render

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"text/template"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Renderer renders the chart that serves one model. It is safe for concurrent use.
type Renderer struct {
	defaults  map[string]any
	schema    *jsonschema.Schema
	templates *template.Template
	// manifests are the templates that render an object, in the order in which the objects are applied.
	manifests []manifest
}

// New loads the embedded chart, parses its templates and compiles its schema. An error is a mistake in the chart.
func New() (*Renderer, error) {
	loaded, err := loadChart()
	if err != nil {
		return nil, err
	}
	return newRenderer(loaded)
}

func newRenderer(loaded *chart.Chart) (*Renderer, error) {
	schema, err := compileSchema(loaded.Schema)
	if err != nil {
		return nil, fmt.Errorf("compile schema of chart %q: %w", loaded.Name(), err)
	}
	templates, err := parseTemplates(loaded)
	if err != nil {
		return nil, fmt.Errorf("parse chart %q: %w", loaded.Name(), err)
	}
	files, err := manifests(loaded)
	if err != nil {
		return nil, fmt.Errorf("load chart %q: %w", loaded.Name(), err)
	}
	return &Renderer{defaults: loaded.Values, schema: schema, templates: templates, manifests: files}, nil
}

// rendersObject says whether a template is a manifest, neither a partial nor the notes for people.
func rendersObject(name string) bool {
	return !strings.HasPrefix(path.Base(name), "_") && path.Ext(name) == ".yaml"
}

// Render lays values over the chart's defaults, checks them against the chart's schema and returns the objects that
// the chart makes of them, for a release called name in namespace, in the order in which they are to be applied.
//
// Values must consist of what JSON decodes to (maps, slices of any, strings, bools, numbers, nil) and are not changed.
// The error is an *InvalidValuesError if the schema refuses them, a *DecodeError if a template made something that is
// not a valid object, and something else if a template failed.
func (r *Renderer) Render(namespace, name string, values map[string]any) ([]client.Object, error) {
	merged := withDefaults(r.defaults, values)
	if err := validate(r.schema, merged); err != nil {
		return nil, err
	}
	data := templateData(namespace, name, merged)

	var text bytes.Buffer
	objects := make([]client.Object, 0, len(r.manifests))
	for _, m := range r.manifests {
		text.Reset()
		if err := r.templates.ExecuteTemplate(&text, m.file, data); err != nil {
			return nil, fmt.Errorf("render chart: %w", err)
		}
		obj, err := m.decode(dropNoValue(text.Bytes()))
		if err != nil {
			return nil, err
		}
		if obj == nil {
			continue
		}
		obj.SetNamespace(namespace)
		objects = append(objects, obj)
	}
	return objects, nil
}

// templateData is what the templates see. Charts of the operator may use nothing else of what Helm offers, as it would
// differ between here and plain Helm.
func templateData(namespace, name string, values map[string]any) map[string]any {
	return map[string]any{
		"Values": values,
		"Release": map[string]any{
			"Name":      name,
			"Namespace": namespace,
			"Service":   "Helm",
		},
	}
}
