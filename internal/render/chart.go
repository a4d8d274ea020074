package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	helmcharts "github.com/aimodel-operator/aimodel-operator/helm-charts"
)

// allowedFunctions lists the template functions that charts may use beside include, required, toJson and those built
// into Go templates: each gives the same output for the same input, wherever and whenever it runs. Any other is unknown
// to the parser. There is no quote among them: it escapes for Go, not for YAML.
var allowedFunctions = []string{
	"add", "default", "dict", "div", "hasKey", "indent", "int", "kindIs", "list", "merge", "nindent", "replace", "set",
	"toString", "trimAll",
}

// loadChart reads the embedded chart, as Helm would from a folder.
func loadChart() (*chart.Chart, error) {
	root := helmcharts.ModelServerDir
	var files []*loader.BufferedFile
	err := fs.WalkDir(helmcharts.ModelServer, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := helmcharts.ModelServer.ReadFile(path)
		files = append(files, &loader.BufferedFile{Name: strings.TrimPrefix(path, root+"/"), Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read chart: %w", err)
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("load chart: %w", err)
	}
	return loaded, nil
}

// parseTemplates parses the templates of the chart as Helm does, once.
func parseTemplates(loaded *chart.Chart) (*template.Template, error) {
	root := template.New("chart").Option("missingkey=zero")
	root.Funcs(functions(root))
	for _, t := range loaded.Templates {
		if _, err := root.New(t.Name).Parse(string(t.Data)); err != nil {
			return nil, err
		}
	}
	return root, nil
}

func functions(root *template.Template) template.FuncMap {
	all := sprig.TxtFuncMap()
	out := template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var text strings.Builder
			err := root.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
		"required": required,
		"toJson":   toJSON,
	}
	for _, name := range allowedFunctions {
		out[name] = all[name]
	}
	return out
}

// toJSON is Helm's, except that it tells of a failure.
func toJSON(value any) (string, error) {
	data, err := json.Marshal(value)
	return string(data), err
}

// required is Helm's.
func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return nil, errors.New(message)
	}
	return value, nil
}

// dropNoValue removes what Go prints for a missing value, as Helm does. No user's string can look like it: toJson
// writes the angle brackets as escapes.
func dropNoValue(text []byte) []byte {
	return bytes.ReplaceAll(text, []byte("<no value>"), nil)
}

// withDefaults lays values over defaults by Helm's rules: maps are merged, anything else replaces, and null removes
// the default. Neither argument is changed; the result shares parts of both.
func withDefaults(defaults, values map[string]any) map[string]any {
	out := make(map[string]any, len(defaults)+len(values))
	for key, standard := range defaults {
		if _, given := values[key]; !given {
			out[key] = standard
		}
	}
	for key, value := range values {
		standard := defaults[key]
		if value == nil && standard != nil {
			continue
		}
		under, mergeable := standard.(map[string]any)
		if over, isMap := value.(map[string]any); isMap && mergeable {
			value = withDefaults(under, over)
		}
		out[key] = value
	}
	return out
}
