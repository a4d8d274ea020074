package render

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// objectKind is one kind of object that the chart may render.
type objectKind struct {
	gvk schema.GroupVersionKind
	new func() client.Object
}

// kinds lists every kind that the chart may render, in the order in which they are applied: what pods need before
// the pods, what watches over them last.
var kinds = [maxObjects]objectKind{
	{corev1.SchemeGroupVersion.WithKind("ServiceAccount"), func() client.Object { return &corev1.ServiceAccount{} }},
	{corev1.SchemeGroupVersion.WithKind("Service"), func() client.Object { return &corev1.Service{} }},
	{appsv1.SchemeGroupVersion.WithKind("Deployment"), func() client.Object { return &appsv1.Deployment{} }},
	{policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), func() client.Object { return &policyv1.PodDisruptionBudget{} }},
	{autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), func() client.Object { return &autoscalingv2.HorizontalPodAutoscaler{} }},
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
const maxObjects = 5

var (
	errTwoDocuments = errors.New("has more than one object")
	errSecondOfKind = errors.New("is the second object of its kind")
)

// decode reads the one object of a rendered template into its type. It returns nil when the template rendered nothing,
// and the object's place in the order otherwise.
func decode(file string, text []byte) (client.Object, int, error) {
	text = escapeUnprintable(bytes.TrimSpace(text))
	if len(text) == 0 {
		return nil, 0, nil
	}
	// The YAML reader would stop at the end of the first document and keep quiet about the rest.
	if bytes.Contains(text, []byte("\n---")) || bytes.Contains(text, []byte("\n...")) {
		return nil, 0, &DecodeError{File: file, Err: errTwoDocuments}
	}
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, 0, &DecodeError{File: file, Err: err}
	}
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &head); err != nil {
		return nil, 0, &DecodeError{File: file, Err: err}
	}
	object := head.Kind + " " + head.Metadata.Name
	gvk := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	for i, k := range kinds {
		if k.gvk != gvk {
			continue
		}
		obj := k.new()
		strict, err := kjson.UnmarshalStrict(data, obj)
		if err == nil {
			err = errors.Join(strict...)
		}
		if err != nil {
			return nil, 0, &DecodeError{File: file, Object: object, Err: err}
		}
		return obj, i, nil
	}
	return nil, 0, &DecodeError{File: file, Object: object, Err: fmt.Errorf("kind %s is not one that the operator applies", gvk)}
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
