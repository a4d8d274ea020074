package values

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/naming"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// defaultAccelerator is the accelerator of a spec that only counts them.
const defaultAccelerator = "nvidia.com/gpu"

// Build returns the values of the chart for in. They consist of what JSON decodes to, and may share parts with earlier
// results: the caller must not change them.
//
// The error is ErrSourceNotSupported or ErrFormatNotSupported when the runtime cannot serve the model, and an
// *InvalidValuesError when in.ChartValues cannot be laid over the rest.
func Build(in resolve.Inputs) (map[string]any, error) {
	preset, err := presetOf(in.Runtime.Name)
	if err != nil {
		return nil, err
	}
	source, err := preset.source(in.Model.Source)
	if err != nil {
		return nil, err
	}
	format, err := preset.format(in.Model.Format)
	if err != nil {
		return nil, err
	}
	own, err := fromSpec(in, source)
	if err != nil {
		return nil, err
	}
	if command := in.Runtime.Command; len(command) > 0 {
		own["command"] = anys(command)
	}
	own["args"] = anys(append(preset.arguments(in, source, format), in.Runtime.Args...))
	own["env"], err = environment(preset.Values["env"], in.Runtime.Env)
	if err != nil {
		return nil, err
	}
	if image := in.Site.RuntimeImages[preset.name]; image != "" && in.Runtime.Image == "" {
		own["image"] = image
	}
	all, err := overlay(merge(preset.Values, own), in.ChartValues)
	if err != nil {
		return nil, err
	}
	if source.isRemote() {
		throughProxy(all, in)
	}
	return all, nil
}

// Path returns the path of the model on its service, to be appended to the service's address.
func Path(in resolve.Inputs) string {
	if preset, err := presetOf(in.Runtime.Name); err == nil && preset.Path != "" {
		return preset.Path
	}
	return in.Model.Path
}

// fromSpec gives the values that do not depend on the preset.
func fromSpec(in resolve.Inputs, source source) (map[string]any, error) {
	own := map[string]any{
		"managedBy": aiv1.ManagedBy,
		"owner":     owner(in.Owner),
		"scaleTarget": map[string]any{
			"apiVersion": aiv1.GroupVersion.String(),
			"kind":       in.Owner.Kind,
			"name":       in.Owner.Name,
		},
		"replicas": int64(in.Replicas),
	}
	var err error
	if own["model"], err = model(in.Model, source); err != nil {
		return nil, err
	}
	setString(own, "image", in.Runtime.Image)
	setString(own, "healthPath", in.Runtime.HealthPath)
	if in.ReplaceInPlace {
		own["rollout"] = map[string]any{"replaceInPlace": true}
	}
	if in.Runtime.Port != nil {
		own["port"] = int64(*in.Runtime.Port)
	}
	credentials(own, in.Credentials, source)
	if a := in.Accelerator; a != nil {
		own["accelerator"] = map[string]any{"resourceName": acceleratorName(a), "count": int64(acceleratorCount(a))}
	}
	return own, fromTyped(own, in)
}

// fromTyped gives the values that are Kubernetes types, handed on field by field as they are.
func fromTyped(own map[string]any, in resolve.Inputs) error {
	parts := map[string]any{}
	if in.Resources != nil {
		parts["resources"] = in.Resources
	}
	if in.Disruption != nil {
		parts["disruption"] = in.Disruption
	}
	for key, part := range parts {
		generic, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part)
		if err != nil {
			return fmt.Errorf("convert %s: %w", key, err)
		}
		own[key] = generic
	}
	if in.Placement != nil {
		// The fields of a placement are called as the chart's values are.
		placement, err := runtime.DefaultUnstructuredConverter.ToUnstructured(in.Placement)
		if err != nil {
			return fmt.Errorf("convert placement: %w", err)
		}
		for key, value := range placement {
			own[key] = value
		}
	}
	if in.Autoscaling != nil {
		autoscaling, err := runtime.DefaultUnstructuredConverter.ToUnstructured(in.Autoscaling)
		if err != nil {
			return fmt.Errorf("convert autoscaling: %w", err)
		}
		autoscaling["minReplicas"] = int64(ptr.Deref(in.Autoscaling.MinReplicas, 1))
		own["autoscaling"] = autoscaling
	}
	return nil
}

func owner(of resolve.Owner) map[string]any {
	out := map[string]any{"name": of.Name, "aimodel": naming.LabelValue(of.ModelObject)}
	if of.Kind == resolve.KindInferenceService {
		out["inferenceService"] = naming.LabelValue(of.Name)
	}
	return out
}

func model(of resolve.Model, from source) (map[string]any, error) {
	out := map[string]any{}
	setString(out, "name", of.Name)
	setString(out, "version", of.Version)
	setString(out, "provider", of.Provider)
	setString(out, "type", of.Type)
	if len(of.Parameters) > 0 {
		// As text, so that no number loses a digit on the way.
		var compact bytes.Buffer
		if err := json.Compact(&compact, of.Parameters); err != nil {
			return nil, fmt.Errorf("read parameters: %w", err)
		}
		out["parameters"] = compact.String()
	}
	if s := of.Source; s != nil {
		uri := map[string]any{}
		setString(uri, "uri", s.URI)
		setString(uri, "revision", s.Revision)
		out["source"] = uri
	}
	if f := of.Format; f != nil {
		format := map[string]any{}
		setString(format, "name", f.Name)
		setString(format, "version", f.Version)
		out["format"] = format
	}
	if from.claim != "" {
		out["claim"] = map[string]any{"name": from.claim, "path": from.path}
	}
	return out, nil
}

// tokenKeys are the keys under which people keep a Hugging Face token, beside HF_TOKEN itself.
var tokenKeys = []string{"token", "hf_token", "HUGGING_FACE_HUB_TOKEN"}

func credentials(own map[string]any, c *resolve.Credentials, from source) {
	if c == nil {
		return
	}
	if c.ImagePull {
		own["imagePullSecrets"] = []any{map[string]any{"name": c.SecretName}}
		return
	}
	out := map[string]any{"secretName": c.SecretName}
	if from.scheme == schemeHF {
		setString(out, "tokenKey", tokenKey(c.Keys))
	}
	own["credentials"] = out
}

// tokenKey returns the key that has to be given as HF_TOKEN. A key of that name needs no help: all keys become
// variables.
func tokenKey(keys []string) string {
	found := map[string]bool{}
	for _, key := range keys {
		found[key] = true
	}
	if found["HF_TOKEN"] {
		return ""
	}
	for _, key := range tokenKeys {
		if found[key] {
			return key
		}
	}
	return ""
}

// environment adds the user's variables to those of the preset, in place of those of the same name.
func environment(preset any, given []corev1.EnvVar) ([]any, error) {
	replaced := map[string]bool{}
	users := make([]any, 0, len(given))
	for i := range given {
		replaced[given[i].Name] = true
		generic, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&given[i])
		if err != nil {
			return nil, fmt.Errorf("convert variable %q: %w", given[i].Name, err)
		}
		users = append(users, generic)
	}
	presets, _ := preset.([]any)
	out := make([]any, 0, len(presets)+len(users))
	for _, variable := range presets {
		if v, ok := variable.(map[string]any); ok {
			if name, _ := v["name"].(string); !replaced[name] {
				out = append(out, v)
			}
		}
	}
	return append(out, users...), nil
}

// Accelerators returns the resource that the accelerators of one replica are, and how many they are: none is "" and 0.
func Accelerators(in resolve.Inputs) (resourceName string, count int32) {
	if in.Accelerator == nil {
		return "", 0
	}
	return acceleratorName(in.Accelerator), acceleratorCount(in.Accelerator)
}

func acceleratorName(a *aiv1.Accelerator) string {
	if a.ResourceName == "" {
		return defaultAccelerator
	}
	return a.ResourceName
}

func acceleratorCount(a *aiv1.Accelerator) int32 { return max(a.Count, 1) }

func setString(in map[string]any, key, value string) {
	if value != "" {
		in[key] = value
	}
}

func anys(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = s
	}
	return out
}
