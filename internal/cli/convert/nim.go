package convert

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// What a NIM listens on, answers on and keeps its cache in, unless its object says otherwise.
const (
	nimPort   = 8000
	nimHealth = "/v1/health/ready"
	nimCache  = "/model-store"
	nimUser   = 1000
	nimGroup  = 2000
)

// nimExplanations say why something of a NIMService is not carried over.
var nimExplanations = map[string]string{
	"spec.storage.hostPath":    "a folder of the node is not mounted: use a claim",
	"spec.storage.emptyDir":    "the container has its own file system for that",
	"spec.storage.pvc":         "create the claim first, and name it in chartValues.extraVolumes, mounted at " + nimCache,
	"spec.expose.ingress":      "make an Ingress or an HTTPRoute to the Service yourself",
	"spec.expose.router":       "make an Ingress or an HTTPRoute to the Service yourself",
	"spec.expose.service.type": "the Service is one of type ClusterIP",
	"spec.multiNode":           "a model on several nodes is not supported",
	"spec.draResources":        "claims of devices are not supported: ask for the accelerators by their resource",
	"spec.proxy":               "set the variables of the proxy in runtime.env",
	"spec.startupProbe":        "how long a start may take is startup.budgetSeconds of chartValues",
	"spec.livenessProbe":       "its times are probes.liveness of chartValues",
	"spec.readinessProbe":      "its times are probes.readiness of chartValues",
	"spec.metrics":             "the rest of it is podMonitor of chartValues",
	"spec.scale":               "the rest of it has no counterpart",
}

// nimImage is how a NIMService names its image.
type nimImage struct {
	Repository, Tag, PullPolicy string
	PullSecrets                 []string
}

// nim converts a NIMService.
func (c *Converter) nim(t *taker, name string) (*converted, error) {
	image := get[nimImage](t, "spec.image")
	reference := c.Image
	if image.Repository != "" {
		reference = image.Repository + ":" + cmp.Or(image.Tag, "latest")
	}
	if reference == "" {
		return nil, errors.New("it names no image: name one with --image")
	}
	made := newConverted(image.Repository[strings.LastIndex(image.Repository, "/")+1:], cmp.Or(image.Tag, "1"))
	made.model.Spec.ModelName = cmp.Or(made.model.Spec.ModelName, name)
	made.model.Spec.Endpoint = "/v1"
	if secret := get[string](t, "spec.authSecret"); secret != "" {
		// The keys of a Secret become environment variables, as they do there.
		made.model.Spec.CredentialsRef = &corev1.SecretReference{Name: secret}
	}
	spec := &made.service.Spec
	spec.Runtime = aiv1.Runtime{
		Name: aiv1.RuntimeCustom, Image: reference,
		Command: get[[]string](t, "spec.command"), Args: get[[]string](t, "spec.args"), Env: get[[]corev1.EnvVar](t, "spec.env"),
		Port:       ptr.To(cmp.Or(get[int32](t, "spec.expose.service.port"), nimPort)),
		HealthPath: nimHealth,
	}
	if *spec.Runtime.Port != nimPort {
		spec.Runtime.Env = append(spec.Runtime.Env, corev1.EnvVar{Name: "NIM_SERVER_PORT", Value: strconv.Itoa(int(*spec.Runtime.Port))})
	}
	if path := get[string](t, "spec.readinessProbe.probe.httpGet.path"); path != "" {
		spec.Runtime.HealthPath = path
	}
	spec.Resources, spec.Placement = resourcesOf(t, "spec.resources"), placement(t, "spec.")
	nimScale(t, spec)
	c.nimValues(t, made, image)
	// A probe or a type that says nothing more needs no note.
	t.drop("spec.readinessProbe.enabled", "spec.livenessProbe.enabled", "spec.startupProbe.enabled",
		"spec.scale.enabled", "spec.metrics.enabled")
	if kind := get[string](t, "spec.expose.service.type"); kind != "" && kind != string(corev1.ServiceTypeClusterIP) {
		t.note("spec.expose.service.type", "the Service is one of type ClusterIP, not %s", kind)
	}
	return made, nil
}

func nimScale(t *taker, spec *aiv1.InferenceServiceSpec) {
	replicas := get[*int32](t, "spec.replicas")
	if !get[bool](t, "spec.scale.enabled") {
		scale(t, "spec.replicas", spec, replicas, 0, nil, nil)
		return
	}
	least := get[*int32](t, "spec.scale.hpa.minReplicas")
	if least == nil {
		least = replicas
	}
	scale(t, "spec.scale.hpa.minReplicas", spec, least, get[int32](t, "spec.scale.hpa.maxReplicas"),
		get[[]autoscalingv2.MetricSpec](t, "spec.scale.hpa.metrics"),
		get[*autoscalingv2.HorizontalPodAutoscalerBehavior](t, "spec.scale.hpa.behavior"))
}

func (c *Converter) nimValues(t *taker, made *converted, image nimImage) {
	var secrets []any
	for _, secret := range image.PullSecrets {
		secrets = append(secrets, map[string]any{"name": secret})
	}
	if len(secrets) > 0 {
		made.set(secrets, "imagePullSecrets")
	}
	if image.PullPolicy != "" {
		made.set(image.PullPolicy, "imagePullPolicy")
	}
	// A NIM writes its cache, and runs as this user where nothing else is said.
	made.set(cmp.Or(get[int64](t, "spec.userID"), nimUser), "podSecurityContext", "runAsUser")
	made.set(cmp.Or(get[int64](t, "spec.groupID"), nimGroup), "podSecurityContext", "fsGroup")
	made.carry(t, "spec.runtimeClassName", "runtimeClassName")
	made.carry(t, "spec.schedulerName", "schedulerName")
	made.carry(t, "spec.labels", "podLabels")
	made.carry(t, "spec.annotations", "podAnnotations")
	made.carry(t, "spec.expose.service.annotations", "service", "annotations")
	if get[bool](t, "spec.metrics.enabled") {
		made.set(true, "podMonitor", "enabled")
		made.set("/v1/metrics", "podMonitor", "path")
	}
	c.nimStorage(t, made)
}

// nimCacheClaim is where a NIMCache keeps what it downloads.
type nimCacheClaim struct{ claim, subPath string }

// addCache remembers the claim of a NIMCache: the one that it names or, where it names none, the one that is made for it.
func (c *Converter) addCache(name string, content map[string]any) error {
	t := &taker{fields: &fields{content: content}}
	found := nimCacheClaim{claim: get[string](t, "spec.storage.pvc.name"), subPath: get[string](t, "spec.storage.pvc.subPath")}
	if found.claim == "" {
		found.claim = name + "-pvc"
	}
	if get[string](t, "spec.storage.hostPath") != "" {
		found.claim = "" // there is none
	}
	if c.caches == nil {
		c.caches = map[string]nimCacheClaim{}
	}
	c.caches[name] = found
	return t.err
}

// nimStorage mounts the claim that holds the weights, if there is one.
func (c *Converter) nimStorage(t *taker, made *converted) {
	found := nimCacheClaim{claim: get[string](t, "spec.storage.pvc.name"), subPath: get[string](t, "spec.storage.pvc.subPath")}
	if get[bool](t, "spec.storage.pvc.create") {
		return // there is no claim yet, and the note about the rest says so
	}
	used := "spec.storage.pvc"
	if name := get[string](t, "spec.storage.nimCache.name"); name != "" {
		if profile := get[string](t, "spec.storage.nimCache.profile"); profile != "" {
			made.service.Spec.Runtime.Env = append(made.service.Spec.Runtime.Env, corev1.EnvVar{Name: "NIM_MODEL_PROFILE", Value: profile})
		}
		cache, known := c.caches[name]
		if !known || cache.claim == "" {
			t.note("spec.storage.nimCache",
				"add NIMCache %q to the files, or mount the claim that it has filled at %s, with chartValues.extraVolumes", name, nimCache)
			return
		}
		found, used = cache, "spec.storage.nimCache"
		t.note(used, "what NIMCache %q has downloaded into the claim %q is used: a claim that was made for the cache is deleted with it, "+
			"and nothing downloads it again", name, cache.claim)
	}
	if found.claim == "" {
		return
	}
	made.set([]any{map[string]any{"name": "nim-cache", "persistentVolumeClaim": map[string]any{"claimName": found.claim}}}, "extraVolumes")
	mount := map[string]any{"name": "nim-cache", "mountPath": nimCache}
	if found.subPath != "" {
		mount["subPath"] = found.subPath
	}
	made.set([]any{mount}, "extraVolumeMounts")
	env := &made.service.Spec.Runtime.Env
	*env = append(*env, corev1.EnvVar{Name: "NIM_CACHE_PATH", Value: nimCache})
	t.drop(used)
}
