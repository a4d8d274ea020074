package bundle

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/aimodel-operator/aimodel-operator/test/permissions"
)

const installNamespace = "aimodel-operator-system"

// TestOLMv1 has the bundle made into objects by the code of OLM v1's operator-controller, and looks at what it would install.
func TestOLMv1(t *testing.T) {
	rendered, err := tool(t, "olmv1", "bundle", installNamespace)
	if err != nil {
		t.Fatalf("%v\n%s", err, rendered)
	}
	kinds := map[string]int{}
	clusterRoles, bound := map[string][]rbacv1.PolicyRule{}, map[string]bool{}
	for _, document := range bytes.Split([]byte(rendered), []byte("---\n")) {
		var head struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
		}
		if err := yaml.Unmarshal(document, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind == "" {
			continue
		}
		kinds[head.Kind]++
		if namespace := head.Metadata.Namespace; namespace != "" && namespace != installNamespace {
			t.Errorf("%s %s is of namespace %s", head.Kind, head.Metadata.Name, namespace)
		}
		switch head.Kind {
		case "Deployment":
			checkDeploymentOfOLMv1(t, document)
		case "ClusterRole":
			role := &rbacv1.ClusterRole{}
			decode(t, document, role)
			clusterRoles[role.Name] = role.Rules
		case "ClusterRoleBinding":
			binding := &rbacv1.ClusterRoleBinding{}
			decode(t, document, binding)
			subject := rbacv1.Subject{Kind: "ServiceAccount", Namespace: installNamespace, Name: "aimodel-operator-controller-manager"}
			if diff := cmp.Diff([]rbacv1.Subject{subject}, binding.Subjects); diff != "" {
				t.Errorf("the subjects of %s:\n%s", binding.Name, diff)
			}
			bound[binding.RoleRef.Name] = true
		}
	}
	// Three definitions, and beside the operator's own roles those for users.
	for kind, want := range map[string]int{"CustomResourceDefinition": 3, "Deployment": 1, "ServiceAccount": 1, "Service": 1} {
		if kinds[kind] != want {
			t.Errorf("%d of kind %s, want %d: %v", kinds[kind], kind, want, kinds)
		}
	}
	var granted []rbacv1.PolicyRule
	for name := range maps.Keys(bound) {
		if len(clusterRoles[name]) == 0 {
			t.Errorf("%s is bound, and has no rules", name)
		}
		granted = append(granted, clusterRoles[name]...)
	}
	// The Lifecycle Manager lets every operator that works in all namespaces list them.
	namespaces := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}}
	want := permissions.Granted(append(rulesOfBundle(t), namespaces))
	if diff := cmp.Diff(want, permissions.Granted(granted)); diff != "" {
		t.Errorf("permissions (-in the bundle +in the cluster):\n%s", diff)
	}
}

// checkDeploymentOfOLMv1 holds that the operator is to work in all namespaces.
func checkDeploymentOfOLMv1(t *testing.T, document []byte) {
	t.Helper()
	deployment := &appsv1.Deployment{}
	decode(t, document, deployment)
	if targets, ok := deployment.Spec.Template.Annotations["olm.targetNamespaces"]; !ok || targets != "" {
		t.Errorf("the namespaces to work in are %q, %v", targets, ok)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	if !slices.Contains(container.Args, "--leader-elect") || len(container.Env) == 0 {
		t.Errorf("arguments %v, variables %v", container.Args, container.Env)
	}
}

// TestOLMv1RefusesAFaultyBundle proves that its validation runs.
func TestOLMv1RefusesAFaultyBundle(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "bundle")
	if err := os.CopyFS(broken, os.DirFS(filepath.Join(root(t), "bundle"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(broken, "manifests", "ai.example.com_aimodels.yaml")); err != nil {
		t.Fatal(err)
	}
	if out, err := tool(t, "olmv1", broken, installNamespace); err == nil {
		t.Errorf("a bundle without one of its definitions is rendered: %s", out)
	}
}

// TestOLMv1TakesWhatTheDocumentationSays compares the objects of the page with the definitions of OLM v1.
func TestOLMv1TakesWhatTheDocumentationSays(t *testing.T) {
	command := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/operator-framework/operator-controller")
	command.Dir = filepath.Join(root(t), "tools", "olmv1")
	command.Env = append(os.Environ(), "GOWORK=off")
	folder, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	definitions := map[string]apiextensionsv1.JSONSchemaProps{}
	for _, document := range documents(t, filepath.Join(strings.TrimSpace(string(folder)), "manifests", "standard.yaml")) {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		decode(t, document, definition)
		if definition.Kind == "CustomResourceDefinition" {
			definitions[definition.Spec.Names.Kind] = *definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		}
	}
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## OLM v1")
	_, manifests, _ := strings.Cut(section, "<<EOF\n")
	manifests, _, _ = strings.Cut(manifests, "\nEOF\n")
	checked := 0
	for manifest := range strings.SplitSeq(manifests, "---\n") {
		object := map[string]any{}
		decode(t, []byte(manifest), &object)
		kind, _ := object["kind"].(string)
		if definition, ok := definitions[kind]; ok {
			checked++
			checkFields(t, kind+".spec", object["spec"], definition.Properties["spec"])
		}
	}
	if checked != 2 {
		t.Errorf("%d of ClusterCatalog and ClusterExtension are on the page", checked)
	}
}

// checkFields holds that an object has the fields that a schema requires, and no others than it knows.
func checkFields(t *testing.T, path string, value any, schema apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	fields, ok := value.(map[string]any)
	if !ok {
		return
	}
	for _, name := range schema.Required {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s lacks %s", path, name)
		}
	}
	for name, field := range fields {
		known, ok := schema.Properties[name]
		if !ok {
			t.Errorf("%s has no field %s", path, name)
		}
		checkFields(t, path+"."+name, field, known)
	}
}

func documents(t *testing.T, file string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(data, []byte("\n---\n"))
}

// rulesOfBundle are all permissions that the bundle asks for.
func rulesOfBundle(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root(t), "bundle", "manifests", "aimodel-operator.clusterserviceversion.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	type grant struct{ Rules []rbacv1.PolicyRule }
	var csv struct {
		Spec struct {
			Install struct {
				Spec struct{ Permissions, ClusterPermissions []grant }
			}
		}
	}
	decode(t, data, &csv)
	var rules []rbacv1.PolicyRule
	for _, grant := range slices.Concat(csv.Spec.Install.Spec.Permissions, csv.Spec.Install.Spec.ClusterPermissions) {
		rules = append(rules, grant.Rules...)
	}
	return rules
}

func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%v in\n%s", err, strings.TrimSpace(string(data)))
	}
}
