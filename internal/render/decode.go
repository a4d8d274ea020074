package render

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
)

// objectKind is one kind of object that the chart may render.
type objectKind struct {
	gvk schema.GroupVersionKind
	new func() client.Object
}

// kinds lists every kind that the chart may render, in the order in which they are applied: what pods need before
// the pods, then the pods, which take longest to come up, and last of all what a cluster may not know.
var kinds = [maxObjects]objectKind{
	{corev1.SchemeGroupVersion.WithKind("ServiceAccount"), func() client.Object { return &corev1.ServiceAccount{} }},
	{appsv1.SchemeGroupVersion.WithKind("Deployment"), func() client.Object { return &appsv1.Deployment{} }},
	{corev1.SchemeGroupVersion.WithKind("Service"), func() client.Object { return &corev1.Service{} }},
	{policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), func() client.Object { return &policyv1.PodDisruptionBudget{} }},
	{
		autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
		func() client.Object { return &autoscalingv2.HorizontalPodAutoscaler{} },
	},
	{monitoringv1.GroupVersion.WithKind("PodMonitor"), func() client.Object { return &monitoringv1.PodMonitor{} }},
}

// Kinds returns every kind that the chart may render, in the order in which they are applied.
func Kinds() []schema.GroupVersionKind {
	out := make([]schema.GroupVersionKind, len(kinds))
	for i, k := range kinds {
		out[i] = k.gvk
	}
	return out
}

// maxObjects is the number of kinds: the chart renders at most one object of each.
const maxObjects = 6

var (
	errTwoDocuments = errors.New("has more than one object")
	errSecondOfKind = errors.New("is the second template of its kind")
	// typeLines are the two lines that say what a template renders. They hold no placeholder.
	typeLines = regexp.MustCompile(`(?m)^apiVersion: (\S+)\nkind: (\w+)$`)
)

// manifest is a template that renders one object, or none.
type manifest struct {
	file string
	kind objectKind
}

// manifests finds out which template renders which kind, in the order in which the objects are applied.
func manifests(loaded *chart.Chart) ([]manifest, error) {
	var found [maxObjects]*manifest
	for _, t := range loaded.Templates {
		if !rendersObject(t.Name) {
			continue
		}
		types := typeLines.FindAllSubmatch(t.Data, -1)
		if len(types) != 1 {
			return nil, &DecodeError{File: t.Name, Err: fmt.Errorf("has %d pairs of lines apiVersion and kind, not one", len(types))}
		}
		gvk := schema.FromAPIVersionAndKind(string(types[0][1]), string(types[0][2]))
		place := slices.IndexFunc(kinds[:], func(k objectKind) bool { return k.gvk == gvk })
		if place < 0 {
			return nil, &DecodeError{File: t.Name, Err: fmt.Errorf("renders a %s, which the operator does not apply", gvk)}
		}
		if found[place] != nil {
			return nil, &DecodeError{File: t.Name, Err: errSecondOfKind}
		}
		found[place] = &manifest{file: t.Name, kind: kinds[place]}
	}
	var out []manifest
	for _, m := range found {
		if m != nil {
			out = append(out, *m)
		}
	}
	return out, nil
}

// decode reads what the template rendered into its type. It returns nil when it rendered nothing.
func (m manifest) decode(text []byte) (client.Object, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return nil, nil
	}
	data, err := toJSONDocument(text)
	if err != nil {
		return nil, &DecodeError{File: m.file, Object: m.kind.gvk.Kind, Err: err}
	}
	obj := m.kind.new()
	strict, err := kjson.UnmarshalStrict(data, obj)
	if err == nil {
		err = errors.Join(strict...)
	}
	if err != nil {
		object := strings.TrimSpace(m.kind.gvk.Kind + " " + obj.GetName())
		return nil, &DecodeError{File: m.file, Object: object, Err: err}
	}
	return obj, nil
}

// toJSONDocument turns the one YAML document in text into JSON.
func toJSONDocument(text []byte) ([]byte, error) {
	if data, err := plainToJSON(text); err == nil {
		return data, nil
	}
	// The YAML reader would stop at the end of the first document and keep quiet about the rest.
	if bytes.Contains(text, []byte("\n---")) || bytes.Contains(text, []byte("\n...")) {
		return nil, errTwoDocuments
	}
	return yaml.YAMLToJSONStrict(escapeUnprintable(text))
}

// DecodeError says which rendered file does not hold a valid object. It is a mistake in the chart, or in a value that
// the chart hands on as it is.
type DecodeError struct {
	// File is the template, Object the kind and name of what it rendered, if that much could be read.
	File, Object string
	// Err names the field.
	Err error
}

// Error tells file, object and field.
func (e *DecodeError) Error() string {
	where := path.Base(e.File)
	if e.Object != "" {
		where += ": " + e.Object
	}
	return fmt.Sprintf("decode %s: %s", where, strings.ReplaceAll(e.Err.Error(), "\n", "; "))
}

// Unwrap returns what the decoder said.
func (e *DecodeError) Unwrap() error { return e.Err }
