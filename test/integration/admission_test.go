package integration

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
)

// smallest are the smallest legal specs.
var smallest = map[string]string{
	"AIModel":          `{modelName: abc, modelVersion: "1"}`,
	"InferenceService": `{modelRef: {name: m}, runtime: {name: vllm}}`,
	"ModelRegistry":    `{type: MLflow, url: "https://mlflow.example.com"}`,
}

var _ = ginkgo.Describe("Admission", func() {
	files, err := filepath.Glob("testdata/rejected/*.yaml")
	if err != nil || len(files) == 0 {
		ginkgo.Fail("testdata/rejected has no files")
	}
	for _, file := range files {
		ginkgo.It("refuses "+filepath.Base(file)+" and names the field", func() {
			// The first comment is "# spec.FIELD: why" or "# spec.FIELD and why".
			comment, _, _ := strings.Cut(string(readFile(file)), "\n")
			field := strings.TrimRight(strings.Fields(comment)[1], ":")
			Expect(field).To(HavePrefix("spec."))
			for _, object := range decodeAll(file) {
				object.SetNamespace("default")
				err := k8s.Create(suiteCtx, object, client.DryRunAll)
				Expect(apierrors.IsInvalid(err)).To(BeTrue(), "got %v", err)
				Expect(err.Error()).To(ContainSubstring(field))
			}
		})
	}

	for i := range rules {
		rule := &rules[i]
		ginkgo.It("keeps the rule that "+rule.kind+" "+rule.path+" "+rule.name(), func() {
			admit := admit
			if rule.before != "" {
				admit = admitChangeOf(rule.kind, rule.before)
			}
			for _, spec := range rule.accept {
				Expect(admit(rule.kind, spec)).To(Succeed(), spec)
			}
			for _, spec := range rule.reject {
				err := admit(rule.kind, spec)
				Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: got %v", spec, err)
				Expect(err.Error()).To(ContainSubstring(rule.field()), spec)
				if rule.keyword == cel {
					Expect(err.Error()).To(ContainSubstring(rule.message), spec)
				}
			}
		})
	}

	ginkgo.It("has a case for every rule of the definitions, and no case without a rule", func() {
		var tested []string
		for i := range rules {
			Expect(rules[i].accept).NotTo(BeEmpty(), rules[i].path)
			Expect(rules[i].reject).NotTo(BeEmpty(), rules[i].path)
			tested = append(tested, rules[i].id())
		}
		Expect(tested).To(ConsistOf(declaredRules()))
	})

	ginkgo.It("refuses unknown fields when asked to be strict, as kubectl does", func() {
		for kind := range smallest {
			err := admit(kind, "{nonsense: 1}", client.FieldValidation("Strict"))
			Expect(err).To(MatchError(ContainSubstring(`unknown field "spec.nonsense"`)))
		}
	})

	ginkgo.It("takes every server image and endpoint of the usual forms", func() {
		for _, name := range []string{"a:1", "a/b/c:v1.0_x-y", "localhost:5000/a:1", "Host.example:443/a/b:1",
			"a@sha256:" + strings.Repeat("0a", 32), "r:5000/a:1@sha256:" + strings.Repeat("f", 64)} {
			Expect(admit("AIModel", "{image: '"+name+"'}")).To(Succeed(), name)
		}
		for _, name := range []string{"a", "a:", ":1", "localhost:5000/a", "a:1 ", " a:1", "a b:1", "a:1\\n", "a@sha256:0a", "a:b:c", "-a:1", "a:.1"} {
			Expect(admit("AIModel", `{image: "`+name+`"}`)).NotTo(Succeed(), name)
		}
		for _, name := range []string{"/", "/v1/x", "http://h", "https://h:8443/p?q=1"} {
			Expect(admit("AIModel", "{endpoint: '"+name+"'}")).To(Succeed(), name)
		}
		for _, name := range []string{"v1", "ftp://h/", "http:/h", "http://", "https:///x", "HTTP://h"} {
			Expect(admit("AIModel", "{endpoint: '"+name+"'}")).NotTo(Succeed(), name)
		}
	})

	ginkgo.It("holds updates to the same rules", func() {
		model := newModel(newNamespace(), "m", withImage)
		create(model)
		model.Spec.Endpoint = "https://api.example.org"
		Expect(k8s.Update(suiteCtx, model)).To(MatchError(ContainSubstring("not both")))
	})

	ginkgo.It("sets the defaults", func() {
		namespace := newNamespace()
		model := newModel(namespace, "m", withImage)
		service := newService(namespace, "s", "m", func(spec *aiv1.InferenceServiceSpec) { spec.Accelerator = &aiv1.Accelerator{} })
		create(model, service)
		Expect(*model.Spec.Replicas).To(BeEquivalentTo(1))
		Expect(*service.Spec.Replicas).To(BeEquivalentTo(1))
		Expect(*service.Spec.Accelerator).To(Equal(aiv1.Accelerator{ResourceName: "nvidia.com/gpu", Count: 1}))
	})

	ginkgo.It("keeps parameters as they were given, whatever is in them", func() {
		namespace := newNamespace()
		object := primary("AIModel", merged(smallest["AIModel"],
			`{parameters: {temperature: 0.7, big: 12345678901234567, "on": null, nested: {list: [1, "1", {x: {}}]}, "{{ .x }}": "a\nb"}}`))
		object.SetNamespace(namespace)
		want, _, err := unstructured.NestedMap(object.Object, "spec", "parameters")
		Expect(err).NotTo(HaveOccurred())
		create(object)
		Expect(refresh(object)).To(Succeed())
		got, _, err := unstructured.NestedMap(object.Object, "spec", "parameters")
		Expect(err).NotTo(HaveOccurred())
		Expect(got).To(Equal(want))
	})
})

// admit asks the API server whether it would take an object with the smallest spec of its kind and what is laid over it.
func admit(kind, spec string, options ...client.CreateOption) error {
	object := primary(kind, merged(smallest[kind], spec))
	object.SetNamespace("default")
	return k8s.Create(suiteCtx, object, append(options, client.DryRunAll)...)
}

// admitChangeOf creates an object with one spec, and tries to give it others.
func admitChangeOf(kind, before string) func(kind, spec string, options ...client.CreateOption) error {
	ginkgo.GinkgoHelper()
	object := primary(kind, merged(smallest[kind], before))
	object.SetNamespace(newNamespace())
	create(object)
	return func(_, spec string, _ ...client.CreateOption) error {
		data, err := json.Marshal(map[string]any{"spec": merged(smallest[kind], spec)})
		Expect(err).NotTo(HaveOccurred())
		return k8s.Patch(suiteCtx, object.DeepCopy(), client.RawPatch(types.MergePatchType, data), client.DryRunAll)
	}
}

func primary(kind string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	version := aiv1.GroupVersion
	if kind == "ModelRegistry" {
		version = v1alpha1.GroupVersion
	}
	object.SetGroupVersionKind(version.WithKind(kind))
	object.SetName("object")
	return object
}

// decode reads YAML as the API server does, which keeps whole numbers whole.
func decode(text string) map[string]any {
	ginkgo.GinkgoHelper()
	data, err := yaml.YAMLToJSON([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	var value map[string]any
	Expect(utiljson.Unmarshal(data, &value)).To(Succeed())
	return value
}

// merged lays one spec over another. "~" takes a field away.
func merged(under, over string) map[string]any {
	ginkgo.GinkgoHelper()
	base := decode(under)
	for key, value := range decode(over) {
		if value == nil {
			delete(base, key)
			continue
		}
		base[key] = value
	}
	return base
}
