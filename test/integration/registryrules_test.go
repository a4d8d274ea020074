package integration

import "strings"

// tags is a map in YAML of as many tags.
func tags(count int) string {
	var all strings.Builder
	for i := range count {
		all.WriteString("t" + strings.Repeat("x", i) + ": a, ")
	}
	return "{registry: {tags: {" + strings.TrimSuffix(all.String(), ", ") + "}}}"
}

const (
	tagNames  = "a tag's name has up to 63 letters, digits, '-', '_', '.' and '/', and does not begin with ai.example.com/"
	tagValues = "a tag's value has up to 255 characters"
)

var registrationRules = []rule{
	{kind: "AIModel", path: "spec.registry.registryRef.name", keyword: "required",
		accept: []string{"{registry: {registryRef: {name: a}}}"}, reject: []string{"{registry: {registryRef: {}}}"}},
	{kind: "AIModel", path: "spec.registry.registryRef.name", keyword: "minLength",
		accept: []string{"{registry: {registryRef: {name: a}}}"}, reject: []string{"{registry: {registryRef: {name: ''}}}"}},
	{kind: "AIModel", path: "spec.registry.registryRef.name", keyword: "maxLength",
		accept: []string{"{registry: {registryRef: {name: " + long(253) + "}}}"}, reject: []string{"{registry: {registryRef: {name: " + long(254) + "}}}"}},
	{kind: "AIModel", path: "spec.registry.registeredName", keyword: "minLength",
		accept: []string{"{registry: {registeredName: a}}"}, reject: []string{"{registry: {registeredName: ''}}"}},
	{kind: "AIModel", path: "spec.registry.registeredName", keyword: "maxLength",
		accept: []string{"{registry: {registeredName: " + long(253) + "}}"}, reject: []string{"{registry: {registeredName: " + long(254) + "}}"}},
	{kind: "AIModel", path: "spec.registry.registeredName", keyword: "pattern",
		accept: []string{"{registry: {registeredName: team/llama-3.1_8b}}"},
		reject: []string{"{registry: {registeredName: A}}", "{registry: {registeredName: a//b}}", "{registry: {registeredName: ../b}}", "{registry: {registeredName: a b}}"}},
	{kind: "AIModel", path: "spec.registry.deletionPolicy", keyword: "enum",
		accept: []string{"{registry: {deletionPolicy: Delete}}", "{registry: {deletionPolicy: Archive}}", "{registry: {deletionPolicy: Orphan}}"},
		reject: []string{"{registry: {deletionPolicy: Keep}}"}},
	{kind: "AIModel", path: "spec.registry.adoptionPolicy", keyword: "enum",
		accept: []string{"{registry: {adoptionPolicy: Never}}", "{registry: {adoptionPolicy: IfUnowned}}", "{registry: {adoptionPolicy: Always}}"},
		reject: []string{"{registry: {adoptionPolicy: Sometimes}}"}},
	{kind: "AIModel", path: "spec.registry.tags", keyword: "maxProperties", accept: []string{tags(32)}, reject: []string{tags(33)}},
	{kind: "AIModel", path: "spec.registry.tags", keyword: cel, message: tagNames,
		accept: []string{"{registry: {tags: {team: a, 'a.b/c-d_E': '', " + long(63) + ": a}}}"},
		reject: []string{"{registry: {tags: {ai.example.com/uid: a}}}", "{registry: {tags: {'a,b': a}}}", "{registry: {tags: {'a ': a}}}",
			"{registry: {tags: {" + long(64) + ": a}}}"}},
	{kind: "AIModel", path: "spec.registry.tags", keyword: cel, message: tagValues,
		accept: []string{"{registry: {tags: {a: " + long(255) + "}}}"}, reject: []string{"{registry: {tags: {a: " + long(256) + "}}}"}},
	{kind: "AIModel", path: "spec.registry.cleanup.timeout", keyword: cel, message: "must be from 1s to 720h",
		accept: []string{"{registry: {cleanup: {timeout: 1s}}}", "{registry: {cleanup: {timeout: 720h}}}"},
		reject: []string{"{registry: {cleanup: {timeout: 999ms}}}", "{registry: {cleanup: {timeout: 721h}}}"}},
	{kind: "AIModel", path: "spec.registry.cleanup.onTimeout", keyword: "enum",
		accept: []string{"{registry: {cleanup: {onTimeout: Block}}}", "{registry: {cleanup: {onTimeout: Orphan}}}"},
		reject: []string{"{registry: {cleanup: {onTimeout: Delete}}}"}},
}

var registryRules = []rule{
	{kind: "ModelRegistry", path: "spec", keyword: cel, at: "spec.type", before: "{type: OCI}",
		message: "spec.type cannot change: what is registered there could not be found again",
		accept:  []string{"{type: OCI, url: 'https://b'}"}, reject: []string{"{type: MLflow}", "{type: Webhook}"}},
	{kind: "ModelRegistry", path: "spec", keyword: cel, at: "spec.workspace", message: "spec.workspace needs the type MLflow",
		accept: []string{"{workspace: a}", "{type: OCI}"}, reject: []string{"{type: OCI, workspace: a}"}},
	{kind: "ModelRegistry", path: "spec.type", keyword: "required", accept: []string{"{}"}, reject: []string{"{type: ~}"}},
	{kind: "ModelRegistry", path: "spec.type", keyword: "enum",
		accept: []string{"{type: MLflow}", "{type: KubeflowModelRegistry}", "{type: OCI}", "{type: Webhook}"}, reject: []string{"{type: Git}"}},
	{kind: "ModelRegistry", path: "spec.url", keyword: "required", accept: []string{"{}"}, reject: []string{"{url: ~}"}},
	{kind: "ModelRegistry", path: "spec.url", keyword: "minLength", accept: []string{"{}"}, reject: []string{"{url: ''}"}},
	{kind: "ModelRegistry", path: "spec.url", keyword: "maxLength",
		accept: []string{"{url: 'https://a/" + long(2038) + "'}"}, reject: []string{"{url: 'https://a/" + long(2039) + "'}"}},
	{kind: "ModelRegistry", path: "spec.url", keyword: cel, message: "must be an http:// or https:// URL without credentials, query or fragment",
		accept: []string{"{url: 'http://a'}", "{url: 'https://a.b:5000/c/d'}", "{url: 'http://[::1]:80'}"},
		reject: []string{"{url: a}", "{url: 'ftp://a'}", "{url: 'https://user:secret@a'}", "{url: 'https://a?token=secret'}", "{url: 'https://a#b'}", "{url: 'https://'}"}},
	{kind: "ModelRegistry", path: "spec.auth.secretName", keyword: "required", accept: []string{"{auth: {secretName: a}}"}, reject: []string{"{auth: {}}"}},
	{kind: "ModelRegistry", path: "spec.auth.secretName", keyword: "minLength", accept: []string{"{auth: {secretName: a}}"}, reject: []string{"{auth: {secretName: ''}}"}},
	{kind: "ModelRegistry", path: "spec.auth.secretName", keyword: "maxLength",
		accept: []string{"{auth: {secretName: " + long(253) + "}}"}, reject: []string{"{auth: {secretName: " + long(254) + "}}"}},
	{kind: "ModelRegistry", path: "spec.caBundle", keyword: "minLength", accept: []string{"{caBundle: a}"}, reject: []string{"{caBundle: ''}"}},
	{kind: "ModelRegistry", path: "spec.caBundle", keyword: "maxLength", accept: []string{"{caBundle: " + long(65536) + "}"}, reject: []string{"{caBundle: " + long(65537) + "}"}},
	{kind: "ModelRegistry", path: "spec.timeout", keyword: cel, message: "must be from 1s to 5m",
		accept: []string{"{timeout: 1s}", "{timeout: 5m}"}, reject: []string{"{timeout: 999ms}", "{timeout: 6m}"}},
	{kind: "ModelRegistry", path: "spec.workspace", keyword: "minLength", accept: []string{"{workspace: a}"}, reject: []string{"{workspace: ''}"}},
	{kind: "ModelRegistry", path: "spec.workspace", keyword: "maxLength", accept: []string{"{workspace: " + long(63) + "}"}, reject: []string{"{workspace: " + long(64) + "}"}},
	{kind: "ModelRegistry", path: "spec.workspace", keyword: "pattern", accept: []string{"{workspace: Team-a_1.b}"}, reject: []string{"{workspace: -a}", "{workspace: a/b}"}},
}
