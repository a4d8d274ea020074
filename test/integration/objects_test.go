package integration

import (
	"bytes"
	"os"
	"slices"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
	"github.com/aimodel-operator/aimodel-operator/internal/watches"
)

// owner is either of the two kinds.
type owner = serving.Owner

// image is never pulled: nodes are simulated.
const image = "registry.example/model:1"

func primaries() []client.Object {
	return []client.Object{&aiv1.AIModel{}, &aiv1.InferenceService{}}
}

// newModel is a catalogue entry, until change makes something else of it.
func newModel(namespace, name string, change ...func(*aiv1.AIModelSpec)) *aiv1.AIModel {
	model := &aiv1.AIModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       aiv1.AIModelSpec{ModelName: "sentiment", ModelVersion: "1"},
	}
	for _, f := range change {
		f(&model.Spec)
	}
	return model
}

// withImage makes a model one that serves itself.
func withImage(spec *aiv1.AIModelSpec) { spec.Image = image }

// withReplicas asks for a number of pods.
func withReplicas(count int32) func(*aiv1.AIModelSpec) {
	return func(spec *aiv1.AIModelSpec) { spec.Replicas = &count }
}

// newService serves a model with an image.
func newService(namespace, name, model string, change ...func(*aiv1.InferenceServiceSpec)) *aiv1.InferenceService {
	service := &aiv1.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: aiv1.InferenceServiceSpec{
			ModelRef: aiv1.ModelReference{Name: model},
			Runtime:  aiv1.Runtime{Name: aiv1.RuntimeCustom, Image: image},
		},
	}
	for _, f := range change {
		f(&service.Spec)
	}
	return service
}

// withGPUs asks for GPUs for each replica.
func withGPUs(count int32) func(*aiv1.InferenceServiceSpec) {
	return func(spec *aiv1.InferenceServiceSpec) {
		spec.Accelerator = &aiv1.Accelerator{ResourceName: "nvidia.com/gpu", Count: count}
	}
}

// withAutoscaling makes an autoscaler for up to a number of pods.
func withAutoscaling(most int32) func(*aiv1.InferenceServiceSpec) {
	return func(spec *aiv1.InferenceServiceSpec) { spec.Autoscaling = &aiv1.Autoscaling{MaxReplicas: most} }
}

// withValues lays values, in YAML, over those of the chart.
func withValues(text string) func(*aiv1.InferenceServiceSpec) {
	return func(spec *aiv1.InferenceServiceSpec) {
		raw, err := yaml.YAMLToJSON([]byte(text))
		Expect(err).NotTo(HaveOccurred())
		spec.ChartValues = &runtime.RawExtension{Raw: raw}
	}
}

// withClaim makes the pods mount a claim.
func withClaim(name string) func(*aiv1.InferenceServiceSpec) {
	return withValues("extraVolumes: [{name: claimed, persistentVolumeClaim: {claimName: " + name + "}}]")
}

// withBehavior makes the simulated node fail the pods in the way that it names.
func withBehavior(name string) func(*aiv1.InferenceServiceSpec) {
	return withValues("podAnnotations: {localkube.dev/behavior: " + name + "}")
}

func create(objects ...client.Object) {
	ginkgo.GinkgoHelper()
	for _, object := range objects {
		Expect(k8s.Create(suiteCtx, object)).To(Succeed())
	}
}

// remove deletes an object and waits until it is gone.
func remove(object client.Object, options ...client.DeleteOption) {
	ginkgo.GinkgoHelper()
	Expect(k8s.Delete(suiteCtx, object, options...)).To(Succeed())
	expectGone(object)
}

// refresh reads an object anew.
func refresh(object client.Object) error {
	return k8s.Get(suiteCtx, client.ObjectKeyFromObject(object), object)
}

// edit changes a live object.
func edit(object client.Object, change func()) {
	ginkgo.GinkgoHelper()
	Expect(refresh(object)).To(Succeed())
	before, ok := object.DeepCopyObject().(client.Object)
	Expect(ok).To(BeTrue())
	change()
	Expect(k8s.Patch(suiteCtx, object, client.MergeFrom(before))).To(Succeed())
}

// decodeAll reads the objects of a YAML file.
func decodeAll(file string) []*unstructured.Unstructured {
	ginkgo.GinkgoHelper()
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(readFile(file)), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); err != nil {
			Expect(err).To(MatchError("EOF"))
			return objects
		}
		objects = append(objects, object)
	}
}

// writeFile writes a value in YAML.
func writeFile(file string, value any) {
	ginkgo.GinkgoHelper()
	data, err := yaml.Marshal(value)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(file, data, 0o600)).To(Succeed())
}

// children lists what an owner controls, as "Kind/name", sorted.
func children(of client.Object) []string {
	ginkgo.GinkgoHelper()
	var found []string
	for _, child := range watches.ChildTypes() {
		gvk, err := apiutil.GVKForObject(child, k8s.Scheme())
		Expect(err).NotTo(HaveOccurred())
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		Expect(k8s.List(suiteCtx, list, client.InNamespace(of.GetNamespace()))).To(Succeed())
		for i := range list.Items {
			if metav1.IsControlledBy(&list.Items[i], of) {
				found = append(found, gvk.Kind+"/"+list.Items[i].Name)
			}
		}
	}
	slices.Sort(found)
	return found
}

// recorded lists the inventory of an owner in the form of children.
func recorded(of owner) []string {
	var entries []string
	for _, entry := range of.GetServingStatus().Inventory {
		entries = append(entries, entry.Kind+"/"+entry.Name)
	}
	slices.Sort(entries)
	return entries
}

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func deploymentOf(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: objectMeta(namespace, name)}
}

func serviceOf(namespace, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: objectMeta(namespace, name)}
}

func accountOf(namespace, name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: objectMeta(namespace, name)}
}

func autoscalerOf(namespace, name string) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: objectMeta(namespace, name)}
}

func budgetOf(namespace, name string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: objectMeta(namespace, name)}
}

// live reads an object that is expected to exist soon.
func live[T client.Object](object T) T {
	ginkgo.GinkgoHelper()
	Eventually(refresh).WithArguments(object).Should(Succeed())
	return object
}

func condition(of owner, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(of.GetConditions(), kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}
