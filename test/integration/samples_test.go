package integration

import (
	"encoding/json"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("The examples of the bundle", func() {
	ginkgo.It("are all samples, are taken as they are, and are served", func() {
		needSimulatedPods()
		var csv struct {
			Metadata struct{ Annotations map[string]string }
		}
		Expect(yaml.Unmarshal(readFile("../../bundle/manifests/aimodel-operator.clusterserviceversion.yaml"), &csv)).To(Succeed())
		var examples []map[string]any
		Expect(json.Unmarshal([]byte(csv.Metadata.Annotations["alm-examples"]), &examples)).To(Succeed())
		files, err := filepath.Glob("../../config/samples/ai_*.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(examples).To(HaveLen(len(files)))

		namespace := newNamespace()
		var served []owner
		for _, example := range examples {
			object := &unstructured.Unstructured{Object: example}
			object.SetNamespace(namespace)
			Expect(k8s.Create(suiteCtx, object, client.FieldValidation(metav1.FieldValidationStrict))).To(Succeed(), object.GetName())
			switch object.GetKind() {
			case "AIModel":
				served = append(served, &aiv1.AIModel{ObjectMeta: objectMeta(namespace, object.GetName())})
			case "InferenceService":
				served = append(served, &aiv1.InferenceService{ObjectMeta: objectMeta(namespace, object.GetName())})
			}
		}
		Expect(len(served)).To(BeNumerically(">=", 6))
		expectReady(served...)
	})
})
