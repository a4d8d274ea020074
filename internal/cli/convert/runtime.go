package convert

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// modelFolder is where both KServe and the operator mount the weights that are on a claim.
const modelFolder = "/mnt/models"

// runtimeExplanations say why something of a ServingRuntime is not carried over.
var runtimeExplanations = map[string]string{
	"spec.workerSpec":     "a model on several nodes is not supported",
	"spec.builtInAdapter": "a server that several models share is not supported",
	"spec.initContainers": "use chartValues.initContainers",
}

// servingRuntime is a ServingRuntime or ClusterServingRuntime of KServe.
type servingRuntime struct {
	name    string
	content map[string]any
}

// supportedFormat is a format that a runtime says it can serve.
type supportedFormat struct {
	Name, Version string
	AutoSelect    bool
	Priority      int32
}

// runtimeFor finds the runtime that serves a model: the one that is named or, where none is, the one that KServe would choose by the
// format. Nil: it is not among the documents.
func (c *Converter) runtimeFor(t *taker, name string, format *aiv1.ModelFormat) (*servingRuntime, error) {
	if name != "" || format == nil {
		return c.runtimes[name], nil
	}
	best, most, names := (*servingRuntime)(nil), int32(-1), []string(nil)
	for _, candidate := range c.runtimes {
		reader := &taker{fields: &fields{content: runtime.DeepCopyJSON(candidate.content)}}
		if get[bool](reader, "spec.disabled") {
			continue
		}
		priority := int32(-1)
		for _, supported := range get[[]supportedFormat](reader, "spec.supportedModelFormats") {
			if supported.AutoSelect && strings.EqualFold(supported.Name, format.Name) &&
				(format.Version == "" || supported.Version == "" || format.Version == supported.Version) {
				priority = max(priority, supported.Priority)
			}
		}
		if reader.err != nil {
			return nil, fmt.Errorf("ServingRuntime %q: %w", candidate.name, reader.err)
		}
		switch {
		case priority < 0 || priority < most:
		case priority > most:
			best, most, names = candidate, priority, []string{candidate.name}
		default:
			names = append(names, candidate.name)
		}
	}
	if len(names) > 1 {
		slices.Sort(names)
		return nil, fmt.Errorf("several runtimes select themselves for the format %q: name one of %s in spec.predictor.model.runtime",
			format.Name, strings.Join(names, ", "))
	}
	if best != nil {
		t.note("spec.predictor.model.runtime", "none is named, so ServingRuntime %q was taken, which selects itself for the format %q",
			best.name, format.Name)
	}
	return best, nil
}

// template is what KServe would fill in for each object.
var template = regexp.MustCompile(`\{\{[^}]*\}\}`)

// serve takes from a runtime what the model does not say itself. What the runtime says and nothing here does is told.
func (r *servingRuntime) serve(t *taker, made *converted, name string) error {
	own := &taker{fields: &fields{content: runtime.DeepCopyJSON(r.content)}}
	containers := get[[]corev1.Container](own, "spec.containers")
	if own.err != nil || len(containers) == 0 {
		return cmp.Or(own.err, fmt.Errorf("ServingRuntime %q has no container", r.name))
	}
	place := max(slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == "kserve-container" }), 0)
	for i := range containers {
		if i != place {
			own.note("spec.containers", "the container %q beside the server is not carried over", containers[i].Name)
		}
	}
	r.server(own, made, name, &containers[place])
	r.pod(own, made)
	if get[bool](own, "spec.multiModel") {
		own.note("spec.multiModel", "a server that several models share is not supported")
	}
	own.drop("apiVersion", "kind", "metadata", "status", "spec.supportedModelFormats", "spec.protocolVersions", "spec.disabled")
	for _, note := range own.explain(runtimeExplanations) {
		t.note("ServingRuntime "+r.name, "%s", note)
	}
	return own.err
}

// server takes what the runtime says of the container.
func (r *servingRuntime) server(own *taker, made *converted, name string, server *corev1.Container) {
	spec := &made.service.Spec
	known := strings.NewReplacer("{{.Name}}", name, "{{ .Name }}", name)
	if source := made.model.Spec.Source; source != nil {
		// There, the folder of the claim is mounted; here, the whole claim.
		if _, folder, ok := strings.Cut(strings.TrimPrefix(source.URI, "pvc://"), "/"); ok && strings.HasPrefix(source.URI, "pvc://") {
			known = strings.NewReplacer("{{.Name}}", name, "{{ .Name }}", name, modelFolder, modelFolder+"/"+strings.Trim(folder, "/"))
		}
	}
	args := make([]string, 0, len(server.Args))
	for _, argument := range server.Args {
		argument = known.Replace(argument)
		if unknown := template.FindString(argument); unknown != "" {
			own.note("spec.containers.args", "%s of %q is not filled in", unknown, argument)
		}
		args = append(args, argument)
	}
	spec.Runtime.Image = cmp.Or(spec.Runtime.Image, server.Image)
	if spec.Runtime.Command == nil {
		spec.Runtime.Command = server.Command
	}
	spec.Runtime.Args = append(args, spec.Runtime.Args...)
	spec.Runtime.Env = append(slices.Clone(server.Env), spec.Runtime.Env...)
	if spec.Runtime.Port == nil && len(server.Ports) > 0 {
		spec.Runtime.Port = ptr.To(server.Ports[0].ContainerPort)
	}
	if probe := server.ReadinessProbe; probe != nil && probe.HTTPGet != nil {
		spec.Runtime.HealthPath = cmp.Or(spec.Runtime.HealthPath, probe.HTTPGet.Path)
	}
	if spec.Resources == nil && len(server.Resources.Limits)+len(server.Resources.Requests) > 0 {
		spec.Resources = &server.Resources
	}
	if len(server.VolumeMounts) > 0 {
		made.append(server.VolumeMounts, "extraVolumeMounts")
	}
	if len(server.EnvFrom) > 0 {
		made.set(server.EnvFrom, "envFrom")
	}
}

// pod takes what the runtime says of the pod.
func (r *servingRuntime) pod(own *taker, made *converted) {
	spec := &made.service.Spec
	switch place := placement(own, "spec."); {
	case place == nil:
	case spec.Placement == nil:
		spec.Placement = place
	default:
		own.note("spec", "where the pods may run is said by the model, so what the runtime says of it is not carried over")
	}
	if volumes := get[[]any](own, "spec.volumes"); len(volumes) > 0 {
		made.append(volumes, "extraVolumes")
	}
	if secrets := get[[]any](own, "spec.imagePullSecrets"); len(secrets) > 0 {
		made.append(secrets, "imagePullSecrets")
	}
}
