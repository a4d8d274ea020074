package integration

import (
	"fmt"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("Deletion", func() {
	ginkgo.BeforeEach(needSimulatedPods)

	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		ginkgo.It(fmt.Sprintf("leaves nothing behind (%s)", policy), func() {
			namespace := newNamespace()
			running := []owner{
				newModel(namespace, "m", withImage, withReplicas(2)),
				newService(namespace, "s", "m", withAutoscaling(3)),
			}
			failing := []owner{
				newService(namespace, "too-big", "m", withGPUs(16)),
				newService(namespace, "crash", "m", withBehavior("crash-loop")),
				newService(namespace, "waits", "nothing"),
				newService(namespace, "wrong", "m", withValues("{nonsense: 1}")),
			}
			for _, object := range append(running, failing...) {
				create(object)
			}
			expectReady(running...)
			expectReason(failing[0], aiv1.ReasonUnschedulable)
			expectReason(failing[1], aiv1.ReasonCrashLoop)
			expectReason(failing[2], aiv1.ReasonModelNotFound)
			expectReason(failing[3], aiv1.ReasonInvalidChartValues)
			Expect(left(namespace)).NotTo(BeEmpty())
			for _, object := range append(running, failing...) {
				Expect(k8s.Delete(suiteCtx, object, client.PropagationPolicy(policy))).To(Succeed())
			}
			Eventually(left).WithArguments(namespace).WithTimeout(healing).Should(BeEmpty())
			// And nothing comes back.
			Consistently(left).WithArguments(namespace).WithTimeout(atOnce).Should(BeEmpty())
		})
	}

	ginkgo.It("and a new object of the same name do not mix", func() {
		namespace := newNamespace()
		model := newModel(namespace, "m", withImage)
		create(model)
		expectReady(model)
		old := live(deploymentOf(namespace, "m"))
		remove(model)
		again := newModel(namespace, "m", withImage)
		create(again)
		expectReady(again)
		deployment := live(deploymentOf(namespace, "m"))
		Expect(deployment.UID).NotTo(Equal(old.UID))
		Expect(metav1.IsControlledBy(deployment, again)).To(BeTrue())
		Expect(children(again)).To(HaveLen(3))
	})

	ginkgo.It("of a namespace ends", func() {
		namespace := newNamespace()
		model, service := newModel(namespace, "m", withImage), newService(namespace, "s", "m")
		create(model, service)
		expectReady(model, service)
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		Expect(k8s.Delete(suiteCtx, object)).To(Succeed())
		Eventually(func() bool { return apierrors.IsNotFound(refresh(object)) }).WithTimeout(healing).Should(BeTrue())
	})
})

var _ = describeOwnOperators("An operator for some namespaces", func() {
	ginkgo.It("serves those and touches nothing elsewhere", func() {
		needSimulatedPods()
		mine, other := newNamespace(), newNamespace()
		o := runOperator(operatorSettings{namespaces: []string{mine}})
		theirs := newModel(other, "m", withImage)
		create(theirs)
		expectUntouched(theirs, func() {
			ours := newModel(mine, "m", withImage)
			create(ours)
			expectReady(ours)
			edit(ours, func() { ours.Spec.ModelVersion = "2" })
			expectReady(ours)
		})
		Expect(children(theirs)).To(BeEmpty())
		Expect(o.requests.matching(func(sent request) bool { return strings.Contains(sent.path, "/"+other) })).To(BeEmpty())
	})
})

// left lists what may be left of deleted owners in a namespace. The ServiceAccount default belongs to the namespace.
func left(namespace string) []string {
	ginkgo.GinkgoHelper()
	lists := []client.ObjectList{&aiv1.AIModelList{}, &aiv1.InferenceServiceList{}, &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{},
		&corev1.PodList{}, &corev1.ServiceList{}, &corev1.ServiceAccountList{}, &discoveryv1.EndpointSliceList{}, &policyv1.PodDisruptionBudgetList{},
		&autoscalingv2.HorizontalPodAutoscalerList{}}
	var found []string
	for _, list := range lists {
		Expect(k8s.List(suiteCtx, list, client.InNamespace(namespace))).To(Succeed())
		Expect(meta.EachListItem(list, func(item runtime.Object) error {
			if object, ok := item.(client.Object); ok && object.GetName() != "default" {
				found = append(found, fmt.Sprintf("%T %s", object, object.GetName()))
			}
			return nil
		})).To(Succeed())
	}
	return found
}
