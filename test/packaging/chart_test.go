package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// placeholder is the image that config/manager names.
var placeholder = object{"repository": "controller", "tag": "latest"}

const manager = "aimodel-operator-controller-manager"

func TestTheChartGivesWhatKustomizeGives(t *testing.T) {
	for name, tc := range map[string]struct {
		folder string
		values object
	}{
		"the whole":               {folder: "config/default", values: object{"image": placeholder}},
		"without the definitions": {folder: "config/operator", values: object{"image": placeholder, "crds": object{"install": false}}},
	} {
		t.Run(name, func(t *testing.T) {
			want := kustomize(t, tc.folder)
			// Helm makes the namespace itself, with --create-namespace, and could not own it.
			delete(want, "Namespace//"+namespace)
			if diff := cmp.Diff(want.plain(), mustRender(t, tc.values).plain()); diff != "" {
				t.Errorf("the chart differs from %s (- kustomize, + chart):\n%s", tc.folder, diff)
			}
		})
	}
}

// TestTheChartMonitorsAsKustomizeDoes compares the objects of the options with those of the folders that have the same.
func TestTheChartMonitorsAsKustomizeDoes(t *testing.T) {
	on := object{"enabled": true}
	for folder, metrics := range map[string]object{
		"config/prometheus": {"serviceMonitor": on, "rules": on},
		"config/grafana":    {"dashboard": on},
	} {
		t.Run(folder, func(t *testing.T) {
			got := mustRender(t, object{"metrics": metrics})
			for key := range mustRender(t, nil) {
				delete(got, key)
			}
			if diff := cmp.Diff(kustomize(t, folder).plain(), got.plain()); diff != "" {
				t.Errorf("the chart differs from %s (- kustomize, + chart):\n%s", folder, diff)
			}
		})
	}
	monitor := mustRender(t, object{"metrics": object{"serviceMonitor": on}}).get(t, "ServiceMonitor/"+namespace+"/"+manager)
	service := mustRender(t, nil).get(t, "Service/"+namespace+"/"+manager+"-metrics")
	wanted, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	if err != nil || len(wanted) == 0 {
		t.Fatalf("the ServiceMonitor selects %v, %v", wanted, err)
	}
	for label, value := range wanted {
		if service.GetLabels()[label] != value {
			t.Errorf("the ServiceMonitor wants %s=%s, the Service has %v", label, value, service.GetLabels())
		}
	}
}

func TestDefinitionsStayAndAreUpgraded(t *testing.T) {
	crds := 0
	for key, one := range mustRender(t, nil) {
		u := unstructured.Unstructured{Object: one}
		policy := u.GetAnnotations()["helm.sh/resource-policy"]
		isCRD := u.GetKind() == "CustomResourceDefinition"
		if isCRD {
			crds++
		}
		if isCRD != (policy == "keep") {
			t.Errorf("%s has the policy %q", key, policy)
		}
	}
	if crds < 2 {
		t.Errorf("the chart has %d definitions", crds)
	}
	if crds := load(t).CRDObjects(); len(crds) > 0 {
		t.Errorf("the folder crds/ has %d definitions, which Helm would never upgrade", len(crds))
	}
}

func TestNamedNamespacesGetTheirOwnBindings(t *testing.T) {
	got := mustRender(t, object{"watchNamespaces": []any{"team-a", "team-b"}})
	want := []string{
		"RoleBinding/aimodel-operator-system/aimodel-operator-leader-election-rolebinding",
		"RoleBinding/team-a/aimodel-operator-credentials-reader",
		"RoleBinding/team-a/aimodel-operator-manager-rolebinding",
		"RoleBinding/team-b/aimodel-operator-credentials-reader",
		"RoleBinding/team-b/aimodel-operator-manager-rolebinding",
	}
	if keys := got.ofKind("RoleBinding"); !slices.Equal(keys, want) {
		t.Errorf("bindings = %v, want %v", keys, want)
	}
	if keys := got.ofKind("ClusterRoleBinding"); !slices.Equal(keys, []string{"ClusterRoleBinding//aimodel-operator-metrics-auth-rolebinding"}) {
		t.Errorf("cluster-wide bindings = %v: only the questions of the metrics endpoint have no namespace", keys)
	}
	if args := container(t, got)["args"].([]any); !slices.Contains(args, any("--watch-namespaces=team-a,team-b")) {
		t.Errorf("args = %v", args)
	}
}

func container(t *testing.T, from objects) object {
	t.Helper()
	deployment := from.get(t, "Deployment/"+namespace+"/"+manager)
	containers, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("containers = %v, %v", containers, err)
	}
	return containers[0].(object)
}

func TestValues(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for name, tc := range map[string]struct {
		values  object
		present []string
		absent  []string
		image   string
	}{
		"the defaults": {
			present: []string{"Service/" + namespace + "/" + manager + "-metrics"},
			absent:  []string{"PodDisruptionBudget/", "ServiceMonitor/", "PrometheusRule/", "ConfigMap/", "NetworkPolicy/"},
			image:   "example.com/aimodel-operator:" + load(t).AppVersion(),
		},
		"two replicas": {
			values:  object{"replicas": 2},
			present: []string{"PodDisruptionBudget/" + namespace + "/" + manager},
		},
		"no metrics": {
			values: object{"metrics": object{"enabled": false, "serviceMonitor": object{"enabled": true}, "rules": object{"enabled": true}}},
			absent: []string{"Service/", "ServiceMonitor/", "PrometheusRule/", "ClusterRole//aimodel-operator-metrics-", "ClusterRoleBinding//aimodel-operator-metrics-"},
		},
		"a service monitor": {
			values:  object{"metrics": object{"serviceMonitor": object{"enabled": true, "labels": object{"release": "prometheus"}}}},
			present: []string{"ServiceMonitor/" + namespace + "/" + manager},
		},
		"a network policy": {
			values:  object{"networkPolicy": object{"enabled": true}},
			present: []string{"NetworkPolicy/" + namespace + "/" + manager},
		},
		"a digest": {
			values: object{"image": object{"tag": "ignored", "digest": digest}},
			image:  "example.com/aimodel-operator@" + digest,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustRender(t, tc.values)
			for _, key := range tc.present {
				got.get(t, key)
			}
			for key := range got {
				if slices.ContainsFunc(tc.absent, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
					t.Errorf("there is %s", key)
				}
			}
			if image := container(t, got)["image"]; tc.image != "" && image != tc.image {
				t.Errorf("image = %q, want %q", image, tc.image)
			}
		})
	}
}

func TestValuesThatLookLikeSomethingElse(t *testing.T) {
	hostile := "yes: {no}\n- #'\""
	got := mustRender(t, object{
		"env":             []any{object{"name": "A", "value": hostile}, object{"name": "B", "value": "on"}},
		"extraArgs":       []any{"--x=" + hostile},
		"nodeSelector":    object{"pool": "12"},
		"podAnnotations":  object{"a": "true"},
		"watchNamespaces": []any{"123", "on"},
	})
	env := container(t, got)["env"].([]any)
	if value := env[1].(object)["value"]; value != hostile {
		t.Errorf("value = %q, want %q", value, hostile)
	}
	if value := env[2].(object)["value"]; value != "on" {
		t.Errorf("value = %v, want the text on", value)
	}
	deployment := got.get(t, "Deployment/"+namespace+"/"+manager)
	if pool, _, err := unstructured.NestedString(deployment.Object, "spec", "template", "spec", "nodeSelector", "pool"); err != nil || pool != "12" {
		t.Errorf("nodeSelector = %q, %v", pool, err)
	}
	got.get(t, "RoleBinding/123/aimodel-operator-manager-rolebinding")
	got.get(t, "RoleBinding/on/aimodel-operator-manager-rolebinding")
}

func TestValuesThatAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		values object
		want   string
	}{
		"a misspelled name":        {object{"replicaCount": 2}, "additional properties 'replicaCount' not allowed"},
		"a misspelled inner name":  {object{"image": object{"repo": "x"}}, "additional properties 'repo' not allowed"},
		"no number of replicas":    {object{"replicas": "two"}, "at '/replicas': got string, want integer"},
		"a namespace with a space": {object{"watchNamespaces": []any{"team a"}}, "at '/watchNamespaces/0': 'team a' does not match"},
		"a short digest":           {object{"image": object{"digest": "sha256:abc"}}, "at '/image/digest'"},
		"a privileged port":        {object{"metrics": object{"port": 443}}, "at '/metrics/port'"},
		"an unknown log level":     {object{"logLevel": "loud"}, "at '/logLevel'"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := render(t, tc.values); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

// TestThePlatformsAreTheSameEverywhere compares those that images are built for with those that nodes must have and that a
// catalog shows.
func TestThePlatformsAreTheSameEverywhere(t *testing.T) {
	var built []string
	for _, platform := range strings.Split(must(t, root, "make", "-s", "show-PLATFORMS"), ",") {
		built = append(built, strings.TrimPrefix(platform, "linux/"))
	}
	deployment := kustomize(t, "config/operator").get(t, "Deployment/"+namespace+"/"+manager)
	terms, _, err := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "affinity", "nodeAffinity",
		"requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	if err != nil || len(terms) != 1 {
		t.Fatalf("terms = %v, %v", terms, err)
	}
	var wanted []string
	for _, expression := range terms[0].(object)["matchExpressions"].([]any) {
		if expression.(object)["key"] == "kubernetes.io/arch" {
			for _, value := range expression.(object)["values"].([]any) {
				wanted = append(wanted, value.(string))
			}
		}
	}
	if !slices.Equal(wanted, built) {
		t.Errorf("the Deployment asks for nodes of %v, images are built for %v", wanted, built)
	}
	csv := objects{}
	csv.read(t, "the bundle", []byte(read(t, root, "bundle/manifests/aimodel-operator.clusterserviceversion.yaml")))
	var shown []string
	for _, one := range csv {
		for label := range (&unstructured.Unstructured{Object: one}).GetLabels() {
			if arch, is := strings.CutPrefix(label, "operatorframework.io/arch."); is {
				shown = append(shown, arch)
			}
		}
	}
	slices.Sort(shown)
	if !slices.Equal(shown, built) {
		t.Errorf("the bundle says that it runs on %v, images are built for %v", shown, built)
	}
}

func TestHelmLint(t *testing.T) {
	program := filepath.Join(root, "bin/helm")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: `make test-packaging` builds it", err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "lint", "--strict", filepath.Join(root, "charts/aimodel-operator")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
