package packaging

import (
	"bytes"
	"errors"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	root      = "../.."
	namespace = "aimodel-operator-system"
)

// object is a JSON object.
type object = map[string]any

// objects are manifests by kind, namespace and name.
type objects map[string]object

// The loader logs each link that it follows.
var loadOnce = sync.OnceValues(func() (*chart.Chart, error) {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	return loader.LoadDir(filepath.Join(root, "charts/aimodel-operator"))
})

func load(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// render renders the chart with values, as `helm template` does, and checks them against the chart's schema first.
func render(t *testing.T, values object) (objects, error) {
	t.Helper()
	loaded := load(t)
	release := chartutil.ReleaseOptions{Name: "aimodel-operator", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(loaded, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(loaded, all)
	if err != nil {
		return nil, err
	}
	found := objects{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".txt") {
			found.read(t, name, []byte(text))
		}
	}
	return found, nil
}

func mustRender(t *testing.T, values object) objects {
	t.Helper()
	found, err := render(t, values)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func kustomize(t *testing.T, folder string) objects {
	t.Helper()
	program := filepath.Join(root, "bin/kustomize")
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: `make test-packaging` builds it", err)
	}
	out, err := exec.CommandContext(t.Context(), program, "build", filepath.Join(root, folder)).Output()
	if err != nil {
		t.Fatalf("kustomize build %s: %v", folder, err)
	}
	found := objects{}
	found.read(t, folder, out)
	return found
}

func (o objects) read(t *testing.T, source string, data []byte) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var one object
		err := decoder.Decode(&one)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if len(one) == 0 {
			continue
		}
		u := unstructured.Unstructured{Object: one}
		key := strings.Join([]string{u.GetKind(), u.GetNamespace(), u.GetName()}, "/")
		if _, twice := o[key]; twice || u.GetName() == "" {
			t.Errorf("%s: %s stands there twice, or has no name", source, key)
		}
		o[key] = one
	}
}

// plain takes away what marks by which tool an object was installed.
func (o objects) plain() objects {
	result := objects{}
	for key, one := range o {
		u := unstructured.Unstructured{Object: one}
		labels := u.GetLabels()
		for _, mark := range []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/version", "helm.sh/chart"} {
			delete(labels, mark)
		}
		u.SetLabels(labels)
		annotations := u.GetAnnotations()
		delete(annotations, "helm.sh/resource-policy")
		u.SetAnnotations(annotations)
		if len(annotations) == 0 {
			unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
		}
		result[key] = u.Object
	}
	return result
}

func (o objects) get(t *testing.T, key string) unstructured.Unstructured {
	t.Helper()
	one, found := o[key]
	if !found {
		t.Fatalf("there is no %s among %v", key, slices.Sorted(maps.Keys(o)))
	}
	return unstructured.Unstructured{Object: one}
}

func (o objects) ofKind(kind string) (keys []string) {
	for key := range o {
		if strings.HasPrefix(key, kind+"/") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
