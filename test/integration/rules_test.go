package integration

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// cel is the keyword of a rule that is written in CEL.
const cel = "CEL"

// rule is one validation rule of the API with specs that keep and break it. Each spec is laid over the smallest of its kind.
type rule struct {
	kind, path, keyword string
	// message tells the rules in CEL of one path apart.
	message string
	// at is the field that the error names, where it is not the path.
	at string
	// before is the spec that the others are to replace, for a rule about changes.
	before         string
	accept, reject []string
}

func (r *rule) id() string { return strings.Join([]string{r.kind, r.path, r.keyword, r.message}, "|") }

func (r *rule) name() string {
	if r.keyword == cel {
		return r.message
	}
	return "keeps its " + r.keyword
}

func (r *rule) field() string {
	if r.at != "" {
		return r.at
	}
	return strings.ReplaceAll(strings.ReplaceAll(r.path, "[]", ""), "{}", "")
}

// bounds are the keywords of a schema that bound a value.
var bounds = []string{"pattern", "minLength", "maxLength", "minimum", "maximum", "enum", "minItems", "maxItems", "maxProperties",
	"x-kubernetes-list-map-keys"}

// borrowed are the parts of specs that are Kubernetes' own types. Their bounds are not ours.
var borrowed = []string{"spec.runtime.env[]", "spec.placement.affinity", "spec.placement.tolerations[]",
	"spec.placement.topologySpreadConstraints[]", "spec.autoscaling.metrics[]", "spec.autoscaling.behavior", "spec.resources"}

// declaredRules reads the rules of the definitions, as the ids of rules.
func declaredRules() []string {
	var found []string
	for _, file := range crdFiles() {
		var crd struct {
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct {
					Schema struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		Expect(yaml.Unmarshal(readFile(file), &crd)).To(Succeed())
		properties, _ := crd.Spec.Versions[0].Schema.OpenAPIV3Schema["properties"].(map[string]any)
		found = append(found, schemaRules(crd.Spec.Names.Kind, "spec", properties["spec"])...)
	}
	return found
}

func schemaRules(kind, path string, node any) []string {
	schema, _ := node.(map[string]any)
	var found []string
	validations, _ := schema["x-kubernetes-validations"].([]any)
	for _, v := range validations {
		validation, _ := v.(map[string]any)
		found = append(found, (&rule{kind: kind, path: path, keyword: cel, message: fmt.Sprint(validation["message"])}).id())
	}
	if !slices.ContainsFunc(borrowed, func(prefix string) bool { return strings.HasPrefix(path, prefix) }) {
		for _, keyword := range bounds {
			if _, ok := schema[keyword]; ok {
				found = append(found, (&rule{kind: kind, path: path, keyword: keyword}).id())
			}
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			found = append(found, (&rule{kind: kind, path: path + "." + fmt.Sprint(name), keyword: "required"}).id())
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		found = append(found, schemaRules(kind, path+"."+name, property)...)
	}
	if items, ok := schema["items"]; ok {
		found = append(found, schemaRules(kind, path+"[]", items)...)
	}
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		found = append(found, schemaRules(kind, path+"{}", values)...)
	}
	return found
}

func long(length int) string { return strings.Repeat("a", length) }

// many is a list in YAML of as many equal elements.
func many(count int, element string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+", ", count), ", ") + "]"
}

var rules = slices.Concat(modelRules, serviceRules, registrationRules, registryRules)

const (
	imageRule  = "must be name:tag or name@sha256:digest"
	claimsRule = "resource claims are not supported"
	podsRule   = "must be a number of pods or a percentage"
)

var modelRules = []rule{
	{kind: "AIModel", path: "spec", keyword: cel, at: "spec.endpoint",
		message: "spec.image cannot be set with a URL as spec.endpoint: a model is served here or elsewhere, not both",
		accept:  []string{"{image: 'x:1', endpoint: /v1}", "{endpoint: 'https://h/v1'}", "{image: 'x:1'}"},
		reject:  []string{"{image: 'x:1', endpoint: 'https://h/v1'}", "{image: 'x:1', endpoint: 'http://h'}"}},
	{kind: "AIModel", path: "spec", keyword: cel, at: "spec.port", message: "spec.port needs spec.image: nothing is served without it",
		accept: []string{"{image: 'x:1', port: 80}"}, reject: []string{"{port: 80}", "{endpoint: 'https://h', port: 80}"}},
	{kind: "AIModel", path: "spec", keyword: cel, at: "spec.healthPath", message: "spec.healthPath needs spec.image: nothing is served without it",
		accept: []string{"{image: 'x:1', healthPath: /up}"}, reject: []string{"{healthPath: /up}"}},
	{kind: "AIModel", path: "spec", keyword: cel, at: "spec.resources", message: "spec.resources needs spec.image: nothing is served without it",
		accept: []string{"{image: 'x:1', resources: {limits: {cpu: 1}}}", "{resources: {}}"},
		reject: []string{"{resources: {limits: {cpu: 1}}}", "{resources: {requests: {cpu: 1}}}"}},
	{kind: "AIModel", path: "spec.credentialsRef", keyword: cel, at: "spec.credentialsRef.name", message: "must have the name of a Secret",
		accept: []string{"{credentialsRef: {name: s}}", "{credentialsRef: {name: s, namespace: other}}"},
		reject: []string{"{credentialsRef: {}}", "{credentialsRef: {namespace: other}}", "{credentialsRef: {name: ''}}"}},
	{kind: "AIModel", path: "spec.endpoint", keyword: cel, message: "must be a path that starts with '/' or an http:// or https:// URL",
		accept: []string{"{endpoint: /}", "{endpoint: 'http://h'}"}, reject: []string{"{endpoint: v1}", "{endpoint: 'ftp://h'}"}},
	{kind: "AIModel", path: "spec.endpoint", keyword: "minLength", accept: []string{"{endpoint: /}"}, reject: []string{"{endpoint: ''}"}},
	{kind: "AIModel", path: "spec.endpoint", keyword: "maxLength",
		accept: []string{"{endpoint: /" + long(2047) + "}"}, reject: []string{"{endpoint: /" + long(2048) + "}"}},
	{kind: "AIModel", path: "spec.format.name", keyword: "required", accept: []string{"{format: {name: gguf}}"}, reject: []string{"{format: {version: '1'}}"}},
	{kind: "AIModel", path: "spec.format.name", keyword: "pattern",
		accept: []string{"{format: {name: a.b-c}}"}, reject: []string{"{format: {name: GGUF}}", "{format: {name: a-}}"}},
	{kind: "AIModel", path: "spec.format.name", keyword: "minLength", accept: []string{"{format: {name: a}}"}, reject: []string{"{format: {name: ''}}"}},
	{kind: "AIModel", path: "spec.format.name", keyword: "maxLength",
		accept: []string{"{format: {name: " + long(63) + "}}"}, reject: []string{"{format: {name: " + long(64) + "}}"}},
	{kind: "AIModel", path: "spec.format.version", keyword: "minLength",
		accept: []string{"{format: {name: a, version: v}}"}, reject: []string{"{format: {name: a, version: ''}}"}},
	{kind: "AIModel", path: "spec.format.version", keyword: "maxLength",
		accept: []string{"{format: {name: a, version: " + long(63) + "}}"}, reject: []string{"{format: {name: a, version: " + long(64) + "}}"}},
	{kind: "AIModel", path: "spec.healthPath", keyword: "pattern",
		accept: []string{"{image: 'x:1', healthPath: '/a?b={{c}}'}"}, reject: []string{"{image: 'x:1', healthPath: up}", "{image: 'x:1', healthPath: '/a b'}"}},
	{kind: "AIModel", path: "spec.healthPath", keyword: "maxLength",
		accept: []string{"{image: 'x:1', healthPath: /" + long(1023) + "}"}, reject: []string{"{image: 'x:1', healthPath: /" + long(1024) + "}"}},
	{kind: "AIModel", path: "spec.image", keyword: cel, message: imageRule,
		accept: []string{"{image: 'h:5000/x:1'}"}, reject: []string{"{image: x}", "{image: 'h:5000/x'}"}},
	{kind: "AIModel", path: "spec.image", keyword: "minLength", accept: []string{"{image: 'x:1'}"}, reject: []string{"{image: ''}"}},
	{kind: "AIModel", path: "spec.image", keyword: "maxLength",
		accept: []string{"{image: '" + long(1022) + ":1'}"}, reject: []string{"{image: '" + long(1023) + ":1'}"}},
	{kind: "AIModel", path: "spec.modelName", keyword: "required", accept: []string{"{}"}, reject: []string{"{modelName: ~}"}},
	{kind: "AIModel", path: "spec.modelName", keyword: "pattern",
		accept: []string{"{modelName: '123'}", "{modelName: a-b}"}, reject: []string{"{modelName: Abc}", "{modelName: a_b}", "{modelName: -ab}", "{modelName: ab-}"}},
	{kind: "AIModel", path: "spec.modelName", keyword: "minLength", accept: []string{"{modelName: abc}"}, reject: []string{"{modelName: ab}"}},
	{kind: "AIModel", path: "spec.modelName", keyword: "maxLength",
		accept: []string{"{modelName: " + long(253) + "}"}, reject: []string{"{modelName: " + long(254) + "}"}},
	{kind: "AIModel", path: "spec.modelProvider", keyword: "enum",
		accept: []string{"{modelProvider: HuggingFace}", "{modelProvider: OpenAI}", "{modelProvider: Custom}"}, reject: []string{"{modelProvider: Acme}"}},
	{kind: "AIModel", path: "spec.modelType", keyword: "enum",
		accept: []string{"{modelType: LLM}", "{modelType: ImageGen}", "{modelType: Sentiment}", "{modelType: Embedding}"}, reject: []string{"{modelType: llm}"}},
	{kind: "AIModel", path: "spec.modelVersion", keyword: "required", accept: []string{"{}"}, reject: []string{"{modelVersion: ~}"}},
	{kind: "AIModel", path: "spec.modelVersion", keyword: "minLength", accept: []string{"{modelVersion: '0'}"}, reject: []string{"{modelVersion: ''}"}},
	{kind: "AIModel", path: "spec.modelVersion", keyword: "maxLength",
		accept: []string{"{modelVersion: " + long(253) + "}"}, reject: []string{"{modelVersion: " + long(254) + "}"}},
	{kind: "AIModel", path: "spec.port", keyword: "minimum", accept: []string{"{image: 'x:1', port: 1}"}, reject: []string{"{image: 'x:1', port: 0}"}},
	{kind: "AIModel", path: "spec.port", keyword: "maximum", accept: []string{"{image: 'x:1', port: 65535}"}, reject: []string{"{image: 'x:1', port: 65536}"}},
	{kind: "AIModel", path: "spec.replicas", keyword: "minimum", accept: []string{"{replicas: 0}"}, reject: []string{"{replicas: -1}"}},
	{kind: "AIModel", path: "spec.replicas", keyword: "maximum", accept: []string{"{replicas: 100}"}, reject: []string{"{replicas: 101}"}},
	{kind: "AIModel", path: "spec.resources", keyword: cel, at: "spec.resources.claims", message: claimsRule,
		accept: []string{"{image: 'x:1', resources: {limits: {cpu: 1}}}"}, reject: []string{"{image: 'x:1', resources: {claims: [{name: c}]}}"}},
	{kind: "AIModel", path: "spec.source.uri", keyword: "required",
		accept: []string{"{source: {uri: 'hf://a/b'}}"}, reject: []string{"{source: {revision: main}}"}},
	{kind: "AIModel", path: "spec.source.uri", keyword: cel, message: "must be an hf://, s3://, gs://, oci://, pvc:// or https:// address",
		accept: []string{"{source: {uri: 's3://b/k'}}", "{source: {uri: 'gs://b'}}", "{source: {uri: 'oci://r/i:1'}}", "{source: {uri: 'pvc://c/p'}}", "{source: {uri: 'https://h/f'}}"},
		reject: []string{"{source: {uri: 'http://h/f'}}", "{source: {uri: a/b}}", "{source: {uri: 'hf://'}}", "{source: {uri: 'pvc:///p'}}"}},
	{kind: "AIModel", path: "spec.source.uri", keyword: "minLength", accept: []string{"{source: {uri: 'hf://a'}}"}, reject: []string{"{source: {uri: ''}}"}},
	{kind: "AIModel", path: "spec.source.uri", keyword: "maxLength",
		accept: []string{"{source: {uri: 'hf://" + long(2043) + "'}}"}, reject: []string{"{source: {uri: 'hf://" + long(2044) + "'}}"}},
	{kind: "AIModel", path: "spec.source.revision", keyword: "minLength",
		accept: []string{"{source: {uri: 'hf://a', revision: r}}"}, reject: []string{"{source: {uri: 'hf://a', revision: ''}}"}},
	{kind: "AIModel", path: "spec.source.revision", keyword: "maxLength",
		accept: []string{"{source: {uri: 'hf://a', revision: " + long(256) + "}}"}, reject: []string{"{source: {uri: 'hf://a', revision: " + long(257) + "}}"}},
}

var serviceRules = []rule{
	{kind: "InferenceService", path: "spec", keyword: cel, at: "spec.resources",
		message: "spec.resources may not ask for the accelerator's resource too: set it in spec.accelerator",
		accept: []string{"{accelerator: {count: 1}, resources: {limits: {cpu: 1}, requests: {cpu: 1}}}", "{resources: {limits: {nvidia.com/gpu: 1}}}",
			"{accelerator: {resourceName: amd.com/gpu}, resources: {limits: {nvidia.com/gpu: 1}}}", "{accelerator: {}, resources: {}}"},
		reject: []string{"{accelerator: {}, resources: {limits: {nvidia.com/gpu: 1}}}",
			"{accelerator: {resourceName: amd.com/gpu}, resources: {requests: {amd.com/gpu: 1}}}"}},
	{kind: "InferenceService", path: "spec.accelerator.count", keyword: "minimum",
		accept: []string{"{accelerator: {count: 1}}"}, reject: []string{"{accelerator: {count: 0}}"}},
	{kind: "InferenceService", path: "spec.accelerator.count", keyword: "maximum",
		accept: []string{"{accelerator: {count: 64}}"}, reject: []string{"{accelerator: {count: 65}}"}},
	{kind: "InferenceService", path: "spec.accelerator.resourceName", keyword: "pattern",
		accept: []string{"{accelerator: {resourceName: nvidia.com/mig-1g.10gb}}"}, reject: []string{"{accelerator: {resourceName: gpu}}", "{accelerator: {resourceName: 'a/b/c'}}"}},
	{kind: "InferenceService", path: "spec.accelerator.resourceName", keyword: "maxLength",
		accept: []string{"{accelerator: {resourceName: a/" + long(251) + "}}"}, reject: []string{"{accelerator: {resourceName: a/" + long(252) + "}}"}},
	{kind: "InferenceService", path: "spec.autoscaling", keyword: cel, at: "spec.autoscaling.minReplicas",
		message: "spec.autoscaling.minReplicas may not exceed maxReplicas",
		accept:  []string{"{autoscaling: {minReplicas: 2, maxReplicas: 2}}", "{autoscaling: {maxReplicas: 1}}"}, reject: []string{"{autoscaling: {minReplicas: 3, maxReplicas: 2}}"}},
	{kind: "InferenceService", path: "spec.autoscaling.maxReplicas", keyword: "required",
		accept: []string{"{autoscaling: {maxReplicas: 3}}"}, reject: []string{"{autoscaling: {minReplicas: 1}}"}},
	{kind: "InferenceService", path: "spec.autoscaling.maxReplicas", keyword: "minimum",
		accept: []string{"{autoscaling: {maxReplicas: 1}}"}, reject: []string{"{autoscaling: {maxReplicas: 0}}"}},
	{kind: "InferenceService", path: "spec.autoscaling.maxReplicas", keyword: "maximum",
		accept: []string{"{autoscaling: {maxReplicas: 1000}}"}, reject: []string{"{autoscaling: {maxReplicas: 1001}}"}},
	{kind: "InferenceService", path: "spec.autoscaling.minReplicas", keyword: "minimum",
		accept: []string{"{autoscaling: {minReplicas: 1, maxReplicas: 1}}"}, reject: []string{"{autoscaling: {minReplicas: 0, maxReplicas: 1}}"}},
	{kind: "InferenceService", path: "spec.autoscaling.minReplicas", keyword: "maximum",
		accept: []string{"{autoscaling: {minReplicas: 1000, maxReplicas: 1000}}"}, reject: []string{"{autoscaling: {minReplicas: 1001, maxReplicas: 1000}}"}},
	{kind: "InferenceService", path: "spec.autoscaling.metrics", keyword: "maxItems",
		accept: []string{"{autoscaling: {maxReplicas: 1, metrics: " + many(32, "{type: Pods}") + "}}"},
		reject: []string{"{autoscaling: {maxReplicas: 1, metrics: " + many(33, "{type: Pods}") + "}}"}},
	{kind: "InferenceService", path: "spec.disruption", keyword: cel, message: "set exactly one of minAvailable and maxUnavailable",
		accept: []string{"{disruption: {minAvailable: 1}}", "{disruption: {maxUnavailable: 50%}}"}, reject: []string{"{disruption: {}}", "{disruption: {minAvailable: 1, maxUnavailable: 1}}"}},
	{kind: "InferenceService", path: "spec.disruption.maxUnavailable", keyword: cel, message: podsRule,
		accept: []string{"{disruption: {maxUnavailable: 0}}", "{disruption: {maxUnavailable: 100%}}"},
		reject: []string{"{disruption: {maxUnavailable: -1}}", "{disruption: {maxUnavailable: 101%}}", "{disruption: {maxUnavailable: many}}"}},
	{kind: "InferenceService", path: "spec.disruption.minAvailable", keyword: cel, message: podsRule,
		accept: []string{"{disruption: {minAvailable: 7}}", "{disruption: {minAvailable: 0%}}"},
		reject: []string{"{disruption: {minAvailable: -1}}", "{disruption: {minAvailable: '1'}}", "{disruption: {minAvailable: 05%}}"}},
	{kind: "InferenceService", path: "spec.modelRef", keyword: "required", accept: []string{"{}"}, reject: []string{"{modelRef: ~}"}},
	{kind: "InferenceService", path: "spec.modelRef.name", keyword: "required", accept: []string{"{modelRef: {name: a}}"}, reject: []string{"{modelRef: {}}"}},
	{kind: "InferenceService", path: "spec.modelRef.name", keyword: "minLength", accept: []string{"{modelRef: {name: a}}"}, reject: []string{"{modelRef: {name: ''}}"}},
	{kind: "InferenceService", path: "spec.modelRef.name", keyword: "maxLength",
		accept: []string{"{modelRef: {name: " + long(253) + "}}"}, reject: []string{"{modelRef: {name: " + long(254) + "}}"}},
	{kind: "InferenceService", path: "spec.placement.priorityClassName", keyword: "maxLength",
		accept: []string{"{placement: {priorityClassName: " + long(253) + "}}"}, reject: []string{"{placement: {priorityClassName: " + long(254) + "}}"}},
	{kind: "InferenceService", path: "spec.replicas", keyword: "minimum", accept: []string{"{replicas: 0}"}, reject: []string{"{replicas: -1}"}},
	{kind: "InferenceService", path: "spec.replicas", keyword: "maximum", accept: []string{"{replicas: 1000}"}, reject: []string{"{replicas: 1001}"}},
	{kind: "InferenceService", path: "spec.resources", keyword: cel, at: "spec.resources.claims", message: claimsRule,
		accept: []string{"{resources: {limits: {cpu: 1}}}"}, reject: []string{"{resources: {claims: [{name: c}]}}"}},
	{kind: "InferenceService", path: "spec.runtime", keyword: "required", accept: []string{"{}"}, reject: []string{"{runtime: ~}"}},
	{kind: "InferenceService", path: "spec.runtime", keyword: cel, at: "spec.runtime.image", message: "spec.runtime.image is required for the custom runtime",
		accept: []string{"{runtime: {name: custom, image: 'x:1'}}", "{runtime: {name: vllm}}"}, reject: []string{"{runtime: {name: custom}}"}},
	{kind: "InferenceService", path: "spec.runtime.name", keyword: "required", accept: []string{"{runtime: {name: vllm}}"}, reject: []string{"{runtime: {image: 'x:1'}}"}},
	{kind: "InferenceService", path: "spec.runtime.name", keyword: "enum",
		accept: []string{"{runtime: {name: vllm}}", "{runtime: {name: custom, image: 'x:1'}}"}, reject: []string{"{runtime: {name: vLLM}}", "{runtime: {name: ''}}"}},
	{kind: "InferenceService", path: "spec.runtime.image", keyword: cel, message: imageRule,
		accept: []string{"{runtime: {name: vllm, image: 'x:1'}}"}, reject: []string{"{runtime: {name: vllm, image: x}}"}},
	{kind: "InferenceService", path: "spec.runtime.image", keyword: "minLength",
		accept: []string{"{runtime: {name: vllm, image: 'x:1'}}"}, reject: []string{"{runtime: {name: vllm, image: ''}}"}},
	{kind: "InferenceService", path: "spec.runtime.image", keyword: "maxLength",
		accept: []string{"{runtime: {name: vllm, image: '" + long(1022) + ":1'}}"}, reject: []string{"{runtime: {name: vllm, image: '" + long(1023) + ":1'}}"}},
	{kind: "InferenceService", path: "spec.runtime.args", keyword: "maxItems",
		accept: []string{"{runtime: {name: vllm, args: " + many(256, "a") + "}}"}, reject: []string{"{runtime: {name: vllm, args: " + many(257, "a") + "}}"}},
	{kind: "InferenceService", path: "spec.runtime.command", keyword: "maxItems",
		accept: []string{"{runtime: {name: vllm, command: " + many(256, "a") + "}}"}, reject: []string{"{runtime: {name: vllm, command: " + many(257, "a") + "}}"}},
	{kind: "InferenceService", path: "spec.runtime.env", keyword: "maxItems",
		accept: []string{"{runtime: {name: vllm, env: " + variables(256) + "}}"}, reject: []string{"{runtime: {name: vllm, env: " + variables(257) + "}}"}},
	{kind: "InferenceService", path: "spec.runtime.env", keyword: "x-kubernetes-list-map-keys",
		accept: []string{"{runtime: {name: vllm, env: [{name: A}, {name: B}]}}"}, reject: []string{"{runtime: {name: vllm, env: [{name: A}, {name: A}]}}"}},
	{kind: "InferenceService", path: "spec.runtime.healthPath", keyword: "pattern",
		accept: []string{"{runtime: {name: vllm, healthPath: /up}}"}, reject: []string{"{runtime: {name: vllm, healthPath: up}}"}},
	{kind: "InferenceService", path: "spec.runtime.healthPath", keyword: "maxLength",
		accept: []string{"{runtime: {name: vllm, healthPath: /" + long(1023) + "}}"}, reject: []string{"{runtime: {name: vllm, healthPath: /" + long(1024) + "}}"}},
	{kind: "InferenceService", path: "spec.runtime.port", keyword: "minimum",
		accept: []string{"{runtime: {name: vllm, port: 1}}"}, reject: []string{"{runtime: {name: vllm, port: 0}}"}},
	{kind: "InferenceService", path: "spec.runtime.port", keyword: "maximum",
		accept: []string{"{runtime: {name: vllm, port: 65535}}"}, reject: []string{"{runtime: {name: vllm, port: 65536}}"}},
}

// variables is a list in YAML of as many environment variables.
func variables(count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = fmt.Sprintf("{name: V%d}", i)
	}
	return "[" + strings.Join(list, ", ") + "]"
}
