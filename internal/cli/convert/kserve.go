package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// kserveExplanations say why something of a KServe InferenceService is not carried over.
var kserveExplanations = map[string]string{
	"spec.transformer":                    "what runs before or after the model is a Deployment of your own",
	"spec.explainer":                      "what runs beside the model is a Deployment of your own",
	"spec.predictor.canaryTrafficPercent": "traffic is not split between versions",
	"spec.predictor.containerConcurrency": "the number of requests at once is the server's own business",
	"spec.predictor.timeout":              "requests have no time limit here",
	"spec.predictor.workerSpec":           "a model on several nodes is not supported",
	"spec.predictor.logger":               "requests are not logged",
	"spec.predictor.batcher":              "requests are not gathered: let the server do it",
	"spec.predictor.model.storage":        "name the weights in spec.source of the AIModel, and their Secret in spec.credentialsRef",
	"spec.predictor.model.runtimeVersion": "name the version in the tag of runtime.image",
	"spec.predictor.deploymentStrategy":   "how a change reaches the pods is rollout of chartValues",
	"spec.predictor.containers":           "containers beside the server are not carried over",
	"spec.predictor.initContainers":       "use chartValues.initContainers",
	"spec.predictor.autoScaling":          "its metrics go to spec.autoscaling.metrics, in the form of autoscaling/v2",
}

// oldFrameworks are the keys under which a predictor names its model's format in the old form.
var oldFrameworks = []string{"sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface", "pmml", "lightgbm", "paddle"}

// kserve converts an InferenceService of KServe.
func (c *Converter) kserve(t *taker, name string) (*converted, error) {
	made := newConverted(name, "1")
	made.service.Spec.Placement = placement(t, "spec.predictor.")
	kserveScale(t, &made.service.Spec)
	made.carry(t, "spec.predictor.imagePullSecrets", "imagePullSecrets")
	made.carry(t, "spec.predictor.runtimeClassName", "runtimeClassName")
	made.carry(t, "spec.predictor.schedulerName", "schedulerName")
	made.carry(t, "spec.predictor.volumes", "extraVolumes")
	made.carry(t, "spec.predictor.labels", "podLabels")
	made.carry(t, "spec.predictor.annotations", "podAnnotations")
	made.carry(t, "spec.predictor.hostAliases", "hostAliases")
	if account := get[string](t, "spec.predictor.serviceAccountName"); account != "" {
		made.set(account, "serviceAccount", "name")
		t.note("spec.predictor.serviceAccountName",
			"Secrets of the account are not used for weights: name one in spec.credentialsRef of the AIModel")
	}
	oldForm(t)
	if model := get[map[string]any](t, "spec.predictor.model"); model != nil {
		return made, c.kserveModel(t, made, name, model)
	}
	return made, c.kserveContainer(t, made)
}

// oldForm moves a model that is named by its framework to where newer objects have it.
func oldForm(t *taker) {
	for _, framework := range oldFrameworks {
		model := get[map[string]any](t, "spec.predictor."+framework)
		if model == nil {
			continue
		}
		model["modelFormat"] = map[string]any{"name": framework}
		predictor, _ := t.content["spec"].(map[string]any)["predictor"].(map[string]any)
		predictor["model"] = model
		return
	}
}

// autoscalerClass is where an object says who scales it.
var autoscalerClass = []string{"metadata", "annotations", "serving.kserve.io/autoscalerClass"}

func kserveScale(t *taker, spec *aiv1.InferenceServiceSpec) {
	const prefix = "spec.predictor."
	metric, target := get[string](t, prefix+"scaleMetric"), get[int32](t, prefix+"scaleTarget")
	var metrics []autoscalingv2.MetricSpec
	switch metric {
	case "cpu", "memory":
		metrics = []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceName(metric), Target: autoscalingv2.MetricTarget{
				Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To(cmp.Or(target, 80))}},
		}}
	case "":
		if target != 0 {
			t.note(prefix+"scaleTarget", "it is a number of requests, which needs a metric of your own in spec.autoscaling.metrics")
		}
	default:
		t.note(prefix+"scaleMetric",
			"%q needs a metric of your own in spec.autoscaling.metrics: until then the autoscaler looks at the CPU", metric)
	}
	least := get[*int32](t, prefix+"minReplicas")
	if class, _, _ := unstructured.NestedString(t.content, autoscalerClass...); class == "external" || class == "none" {
		unstructured.RemoveNestedField(t.content, autoscalerClass...)
		t.note("metadata "+autoscalerClass[2], "it is %q, so there is no autoscaler: the number of replicas is written by others", class)
		t.drop(prefix + "maxReplicas")
		scale(t, prefix+"minReplicas", spec, least, 0, nil, nil)
		return
	}
	scale(t, prefix+"minReplicas", spec, least, get[int32](t, prefix+"maxReplicas"), metrics, nil)
}

// kserveModel converts a model that a runtime serves.
func (c *Converter) kserveModel(t *taker, made *converted, name string, model map[string]any) error {
	inner := &taker{fields: &fields{content: map[string]any{"spec": map[string]any{"predictor": map[string]any{"model": model}}}}}
	const prefix = "spec.predictor.model."
	format, runtimeName := get[string](inner, prefix+"modelFormat.name"), get[string](inner, prefix+"runtime")
	version := get[string](inner, prefix+"modelFormat.version")
	c.kserveSource(inner, made, get[string](inner, prefix+"storageUri"))
	spec := &made.service.Spec
	spec.Resources = resourcesOf(inner, prefix+"resources")
	spec.Runtime = aiv1.Runtime{
		Image: get[string](inner, prefix+"image"), Command: get[[]string](inner, prefix+"command"),
		Args: get[[]string](inner, prefix+"args"), Env: get[[]corev1.EnvVar](inner, prefix+"env"),
	}
	inner.drop(prefix+"name", prefix+"protocolVersion")
	made.carry(inner, prefix+"volumeMounts", "extraVolumeMounts")
	takePort(inner, prefix, &spec.Runtime)
	var err error
	if isLLM(format, runtimeName) {
		serveWithVLLM(inner, made)
	} else {
		if format != "" {
			made.model.Spec.Format = &aiv1.ModelFormat{Name: strings.ToLower(format), Version: version}
		}
		err = c.serveWithRuntime(inner, made, name, runtimeName)
	}
	t.notes, t.err = append(t.notes, inner.notes...), cmp.Or(t.err, inner.err)
	// What is left of the model is told with the rest.
	if left, ok := inner.content["spec"].(map[string]any)["predictor"].(map[string]any); ok {
		t.content["spec"].(map[string]any)["predictor"].(map[string]any)["model"] = left["model"]
	}
	return err
}

// isLLM says whether KServe would serve a model with vLLM.
func isLLM(format, runtime string) bool {
	format, runtime = strings.ToLower(format), strings.ToLower(runtime)
	return format == "huggingface" || format == "vllm" || strings.Contains(runtime, "huggingface") || strings.Contains(runtime, "vllm")
}

func (c *Converter) kserveSource(t *taker, made *converted, uri string) {
	scheme, _, found := strings.Cut(uri, "://")
	switch {
	case uri == "":
	case found && slices.Contains([]string{"hf", "s3", "gs", "oci", "pvc", "https"}, scheme):
		made.model.Spec.Source = &aiv1.ModelSource{URI: uri}
	default:
		t.note("spec.predictor.model.storageUri", "weights cannot be at %q: put them on a claim, and name it as pvc://CLAIM/PATH", uri)
	}
}

// serveWithVLLM lets the runtime vllm serve the model, with the arguments that KServe's own server does not keep for itself.
func serveWithVLLM(t *taker, made *converted) {
	const path = "spec.predictor.model.args"
	runtime, model := &made.service.Spec.Runtime, &made.model.Spec
	runtime.Name = aiv1.RuntimeVLLM
	if runtime.Command != nil {
		t.note("spec.predictor.model.command", "the runtime vllm has its own")
		runtime.Command = nil
	}
	if runtime.Image != "" {
		t.note("spec.predictor.model.image", "%q is KServe's server, so the image of the runtime vllm is used", runtime.Image)
		runtime.Image = ""
	}
	var kept []string
	for _, argument := range runtime.Args {
		name, value, _ := strings.Cut(argument, "=")
		switch strings.ReplaceAll(name, "-", "_") {
		case "__model_name":
			model.ModelName = value
		case "__model_id":
			if model.Source == nil {
				model.Source = &aiv1.ModelSource{URI: "hf://" + value}
			}
		case "__model_revision":
			if model.Source != nil {
				model.Source.Revision = value
			}
		case "__model_dir", "__backend", "__task", "__enable_docs_url", "__http_port", "__predictor_host":
			t.note(path, "%s is an argument of KServe's own server", argument)
		default:
			kept = append(kept, argument)
		}
	}
	runtime.Args, runtime.Port = kept, nil
	model.ModelType = aiv1.TypeLLM
	if model.Source != nil {
		if scheme, _, _ := strings.Cut(model.Source.URI, "://"); scheme != "hf" && scheme != "pvc" {
			t.note("spec.predictor.model.storageUri",
				"the runtime vllm does not read from %s://: put the weights on a claim, and name it as pvc://CLAIM/PATH",
				scheme)
		}
	}
}

// serveWithRuntime lets the server of a ServingRuntime, or the one that was named, serve the model.
func (c *Converter) serveWithRuntime(t *taker, made *converted, name, runtimeName string) error {
	runtime := &made.service.Spec.Runtime
	runtime.Name = aiv1.RuntimeCustom
	known, err := c.runtimeFor(t, runtimeName, made.model.Spec.Format)
	if err != nil {
		return err
	}
	if known != nil {
		if err := known.serve(t, made, name); err != nil {
			return err
		}
	}
	runtime.Image = cmp.Or(runtime.Image, c.Image)
	if runtime.Image == "" {
		return fmt.Errorf("which image serves it is said by ServingRuntime %q: add that to the files, or name an image with --image",
			cmp.Or(runtimeName, "(the default of its format)"))
	}
	if source := made.model.Spec.Source; source != nil && !strings.HasPrefix(source.URI, "pvc://") {
		t.note("spec.predictor.model.storageUri",
			"nothing downloads %s before the server starts: the server finds it in MODEL_SOURCE_URI, or use a claim",
			source.URI)
	}
	return nil
}

// kserveContainer converts a predictor that brings its own container.
func (c *Converter) kserveContainer(t *taker, made *converted) error {
	containers := get[[]corev1.Container](t, "spec.predictor.containers")
	place := max(slices.IndexFunc(containers, func(container corev1.Container) bool { return container.Name == "kserve-container" }), 0)
	if len(containers) == 0 {
		return fmt.Errorf("its predictor has neither a model nor a container")
	}
	server := containers[place]
	spec := &made.service.Spec
	spec.Runtime = aiv1.Runtime{
		Name: aiv1.RuntimeCustom, Image: cmp.Or(server.Image, c.Image), Command: server.Command, Args: server.Args, Env: server.Env,
	}
	if spec.Runtime.Image == "" {
		return fmt.Errorf("its container names no image: name one with --image")
	}
	if len(server.Ports) > 0 {
		spec.Runtime.Port = ptr.To(server.Ports[0].ContainerPort)
	}
	if probe := server.ReadinessProbe; probe != nil && probe.HTTPGet != nil {
		spec.Runtime.HealthPath = probe.HTTPGet.Path
	}
	if len(server.Resources.Limits)+len(server.Resources.Requests) > 0 {
		spec.Resources = &server.Resources
	}
	if len(server.VolumeMounts) > 0 {
		made.set(server.VolumeMounts, "extraVolumeMounts")
	}
	if len(server.EnvFrom) > 0 {
		made.set(server.EnvFrom, "envFrom")
	}
	for i := range containers {
		if i != place {
			t.note("spec.predictor.containers", "the container %q beside the server is not carried over", containers[i].Name)
		}
	}
	return nil
}

// takePort takes the first port of a container.
func takePort(t *taker, prefix string, runtime *aiv1.Runtime) {
	if ports := get[[]corev1.ContainerPort](t, prefix+"ports"); len(ports) > 0 {
		runtime.Port = ptr.To(ports[0].ContainerPort)
	}
}
