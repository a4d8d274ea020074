package olm

import (
	"fmt"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// lifecycleVersions are the versions of the Lifecycle Manager's kinds.
var lifecycleVersions = map[string]string{
	"CatalogSource": "v1alpha1", "Subscription": "v1alpha1", "InstallPlan": "v1alpha1", "ClusterServiceVersion": "v1alpha1",
	"OperatorGroup": "v1", "OperatorCondition": "v2",
}

func lifecycleKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "operators.coreos.com", Version: lifecycleVersions[kind], Kind: kind}
}

func lifecycleObject(kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(lifecycleKind(kind))
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func lifecycleList(kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	gvk := lifecycleKind(kind)
	gvk.Kind += "List"
	list.SetGroupVersionKind(gvk)
	return list
}

func namespaceOf(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// newNamespace makes a namespace that stays, like what is in it, until the control plane goes.
func newNamespace(prefix string) string {
	ginkgo.GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	create(namespace)
	return namespace.Name
}

func create(objects ...client.Object) {
	ginkgo.GinkgoHelper()
	for _, object := range objects {
		Expect(k8s.Create(suiteCtx, object)).To(Succeed())
	}
}

// remove deletes an object and waits until it is gone.
func remove(object client.Object) {
	ginkgo.GinkgoHelper()
	Expect(client.IgnoreNotFound(k8s.Delete(suiteCtx, object))).To(Succeed())
	Eventually(func() bool { return apierrors.IsNotFound(refresh(object)) }).WithTimeout(managed).Should(BeTrue(),
		"%s %s is still there", object.GetObjectKind().GroupVersionKind().Kind, object.GetName())
}

// refresh reads an object anew.
func refresh(object client.Object) error {
	return k8s.Get(suiteCtx, client.ObjectKeyFromObject(object), object)
}

// edit changes a live object.
func edit(object client.Object, change func()) {
	ginkgo.GinkgoHelper()
	Eventually(func() error {
		if err := refresh(object); err != nil {
			return err
		}
		change()
		return k8s.Update(suiteCtx, object)
	}).Should(Succeed())
}

// text is a field of an object, or empty.
func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}

// newModel serves itself, with two pods.
func newModel(namespace, name string) *aiv1.AIModel {
	replicas := int32(2)
	return &aiv1.AIModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: aiv1.AIModelSpec{ModelName: "sentiment", ModelVersion: "1", Image: "registry.example/model:1", Replicas: &replicas,
			Endpoint: "/v1/inference/sentiment"},
	}
}

// newService serves a model on GPUs.
func newService(namespace, name, model string) *aiv1.InferenceService {
	return &aiv1.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: aiv1.InferenceServiceSpec{
			ModelRef:    aiv1.ModelReference{Name: model},
			Runtime:     aiv1.Runtime{Name: aiv1.RuntimeCustom, Image: "registry.example/server:1"},
			Accelerator: &aiv1.Accelerator{ResourceName: "nvidia.com/gpu", Count: 1},
		},
	}
}

// owner is either of the operator's kinds.
type owner interface {
	client.Object
	GetConditions() []metav1.Condition
}

func expectReady(owners ...owner) {
	ginkgo.GinkgoHelper()
	for _, object := range owners {
		Eventually(func(g Gomega) {
			g.Expect(refresh(object)).To(Succeed())
			ready := meta.FindStatusCondition(object.GetConditions(), aiv1.ConditionReady)
			g.Expect(ready).NotTo(BeNil(), "%s has no status", object.GetName())
			story := fmt.Sprintf("%s says %s: %s", object.GetName(), ready.Reason, ready.Message)
			g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), story)
			g.Expect(ready.ObservedGeneration).To(Equal(object.GetGeneration()), story)
		}).Should(Succeed())
	}
}

// running describes the Deployments and pods of a namespace so that it changes when one of them is changed or restarted.
func running(namespace string) []string {
	ginkgo.GinkgoHelper()
	var found []string
	deployments, pods := &appsv1.DeploymentList{}, &corev1.PodList{}
	Expect(k8s.List(suiteCtx, deployments, client.InNamespace(namespace))).To(Succeed())
	Expect(k8s.List(suiteCtx, pods, client.InNamespace(namespace))).To(Succeed())
	for i := range deployments.Items {
		d := &deployments.Items[i]
		found = append(found, fmt.Sprintf("Deployment %s %s generation %d", d.Name, d.UID, d.Generation))
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		restarts := int32(0)
		for j := range pod.Status.ContainerStatuses {
			restarts += pod.Status.ContainerStatuses[j].RestartCount
		}
		found = append(found, fmt.Sprintf("Pod %s %s restarts %d", pod.Name, pod.UID, restarts))
	}
	return found
}
