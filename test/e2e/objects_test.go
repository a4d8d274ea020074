package e2e

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// inference is the path on which the model server answers.
const inference = "/v1/inference/sentiment"

// owner is either of the two kinds.
type owner = serving.Owner

func primaries() []client.Object {
	return []client.Object{&aiv1.AIModel{}, &aiv1.InferenceService{}}
}

// parameters tells the model server how to behave; its README lists them.
type parameters map[string]any

func (p parameters) raw() *runtime.RawExtension {
	ginkgo.GinkgoHelper()
	raw, err := json.Marshal(p)
	Expect(err).NotTo(HaveOccurred())
	return &runtime.RawExtension{Raw: raw}
}

// newModel is a model that serves itself.
func newModel(namespace, name string, change ...func(*aiv1.AIModelSpec)) *aiv1.AIModel {
	model := &aiv1.AIModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: aiv1.AIModelSpec{
			ModelName:    "sentiment",
			ModelVersion: "1",
			Image:        image,
			Endpoint:     inference,
			HealthPath:   "/health",
			Resources:    little(),
		},
	}
	for _, f := range change {
		f(&model.Spec)
	}
	return model
}

// little is what the model server needs.
func little() *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("10m"),
			corev1.ResourceMemory: resource.MustParse("16Mi"),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
	}
}

func withParameters(p parameters) func(*aiv1.AIModelSpec) {
	return func(spec *aiv1.AIModelSpec) { spec.Parameters = p.raw() }
}

func withReplicas(count int32) func(*aiv1.AIModelSpec) {
	return func(spec *aiv1.AIModelSpec) { spec.Replicas = &count }
}

// asEntry leaves of a model what an InferenceService needs of it.
func asEntry(spec *aiv1.AIModelSpec) {
	spec.Image, spec.HealthPath, spec.Resources = "", "", nil
}

// newService serves a model that newModel made with asEntry.
func newService(model *aiv1.AIModel, name string, change ...func(*aiv1.InferenceServiceSpec)) *aiv1.InferenceService {
	service := &aiv1.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Namespace: model.Namespace, Name: name},
		Spec: aiv1.InferenceServiceSpec{
			ModelRef:  aiv1.ModelReference{Name: model.Name},
			Runtime:   aiv1.Runtime{Name: aiv1.RuntimeCustom, Image: image, HealthPath: "/health"},
			Resources: little(),
		},
	}
	for _, f := range change {
		f(&service.Spec)
	}
	return service
}

// needGPUs skips a spec on a cluster that was given and has other GPUs than the suite's own.
func needGPUs() {
	ginkgo.GinkgoHelper()
	nodes := &corev1.NodeList{}
	Expect(k8s.List(suiteCtx, nodes)).To(Succeed())
	var counts []int64
	for i := range nodes.Items {
		if count := nodes.Items[i].Status.Allocatable[gpu]; !count.IsZero() {
			counts = append(counts, count.Value())
		}
	}
	if !slices.Equal(counts, []int64{nodeGPUs}) {
		ginkgo.Skip(fmt.Sprintf("SKIPPED: it needs one node with %d GPUs, and this cluster has %v: unset KUBECONFIG", nodeGPUs, counts))
	}
}

func withGPUs(count int32) func(*aiv1.InferenceServiceSpec) {
	return func(spec *aiv1.InferenceServiceSpec) {
		spec.Accelerator = &aiv1.Accelerator{ResourceName: gpu, Count: count}
	}
}

// withValues lays values, in YAML, over those of the chart.
func withValues(text string) func(*aiv1.InferenceServiceSpec) {
	return func(spec *aiv1.InferenceServiceSpec) {
		raw, err := yaml.YAMLToJSON([]byte(text))
		Expect(err).NotTo(HaveOccurred())
		spec.ChartValues = &runtime.RawExtension{Raw: raw}
	}
}

func create(objects ...client.Object) {
	ginkgo.GinkgoHelper()
	for _, object := range objects {
		Expect(k8s.Create(suiteCtx, object)).To(Succeed())
	}
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

// podsOf lists the pods of an owner, as its status selects them, those that are leaving included.
func podsOf(g Gomega, of owner) []corev1.Pod {
	ginkgo.GinkgoHelper()
	g.Expect(refresh(of)).To(Succeed())
	g.Expect(of.GetServingStatus().Selector).NotTo(BeEmpty())
	selector, err := labels.Parse(of.GetServingStatus().Selector)
	g.Expect(err).NotTo(HaveOccurred())
	pods := &corev1.PodList{}
	g.Expect(k8s.List(suiteCtx, pods, client.InNamespace(of.GetNamespace()), client.MatchingLabelsSelector{Selector: selector})).
		To(Succeed())
	return pods.Items
}

// thePod is the only pod of an owner.
func thePod(of owner) *corev1.Pod {
	ginkgo.GinkgoHelper()
	pods := podsOf(Default, of)
	Expect(pods).To(HaveLen(1))
	return &pods[0]
}

// restarts is how often the containers of a pod were started again.
func restarts(pod *corev1.Pod) int {
	count := 0
	for i := range pod.Status.ContainerStatuses {
		count += int(pod.Status.ContainerStatuses[i].RestartCount)
	}
	return count
}

func deploymentOf(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func condition(of owner, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(of.GetConditions(), kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}
