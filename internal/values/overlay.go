package values

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
)

// InvalidValuesError says which of the user's chart values cannot be used, and why. Values that only the chart's
// schema refuses are not found here, but when the chart is rendered.
type InvalidValuesError struct {
	// Path leads to the value, with dots between the keys.
	Path string
	// Reason says what is wrong with it.
	Reason string
}

// Error names the value and the reason.
func (e *InvalidValuesError) Error() string {
	if e.Path == "" {
		return "invalid values: " + e.Reason
	}
	return "invalid values: " + e.Path + ": " + e.Reason
}

// reserved are the values that may not be laid over, with where they come from instead: what identifies the objects,
// and what the rest of the operator reads from the spec.
var reserved = map[string]string{
	"nameOverride": "the object's name",
	"managedBy":    "the operator",
	"owner":        "the object's name",
	"scaleTarget":  "the object's name",
	"replicas":     "spec.replicas",
	"autoscaling":  "spec.autoscaling",
	"accelerator":  "spec.accelerator",
	"port":         "spec.runtime.port",
	"model":        "the AIModel",
	"credentials":  "spec.credentialsRef of the AIModel",
}

// handedOn are the values that the chart hands on to Kubernetes as they are, with their types. They are checked here,
// so that a misspelt field is told as what it is: a mistake in the values, not in the chart.
var handedOn = map[string]func() any{
	"affinity":                  func() any { return &corev1.Affinity{} },
	"env":                       func() any { return &[]corev1.EnvVar{} },
	"envFrom":                   func() any { return &[]corev1.EnvFromSource{} },
	"extraVolumeMounts":         func() any { return &[]corev1.VolumeMount{} },
	"extraVolumes":              func() any { return &[]corev1.Volume{} },
	"hostAliases":               func() any { return &[]corev1.HostAlias{} },
	"initContainers":            func() any { return &[]corev1.Container{} },
	"podSecurityContext":        func() any { return &corev1.PodSecurityContext{} },
	"resources":                 func() any { return &corev1.ResourceRequirements{} },
	"securityContext":           func() any { return &corev1.SecurityContext{} },
	"tolerations":               func() any { return &[]corev1.Toleration{} },
	"topologySpreadConstraints": func() any { return &[]corev1.TopologySpreadConstraint{} },
}

// overlay lays the user's values over base.
func overlay(base map[string]any, users json.RawMessage) (map[string]any, error) {
	if len(users) == 0 {
		return base, nil
	}
	var given map[string]any
	// This decoder keeps whole numbers whole.
	if err := utiljson.Unmarshal(users, &given); err != nil {
		return nil, &InvalidValuesError{Reason: "must be an object: " + err.Error()}
	}
	keys := make([]string, 0, len(given))
	for key := range given {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if origin, ok := reserved[key]; ok {
			return nil, &InvalidValuesError{Path: key, Reason: fmt.Sprintf("comes from %s and may not be given", origin)}
		}
		if typed, ok := handedOn[key]; ok && given[key] != nil {
			if err := decodes(given[key], typed()); err != nil {
				return nil, &InvalidValuesError{Path: key, Reason: err.Error()}
			}
		}
	}
	return merge(base, given), nil
}

// decodes says why value is not of the type of into.
func decodes(value, into any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	strict, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if len(strict) > 0 {
		return strict[0]
	}
	return nil
}

// merge lays over above under: maps are merged, anything else replaces. A null stays, for the chart to take its
// default away. Neither argument is changed; the result shares parts of both.
func merge(under, over map[string]any) map[string]any {
	out := make(map[string]any, len(under)+len(over))
	for key, value := range under {
		out[key] = value
	}
	for key, value := range over {
		lower, mergeable := out[key].(map[string]any)
		if upper, isMap := value.(map[string]any); isMap && mergeable {
			value = merge(lower, upper)
		}
		out[key] = value
	}
	return out
}
