package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"strconv"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("A model", func() {
	var namespace string
	ginkgo.BeforeEach(func() { namespace = newNamespace() })

	ginkgo.It("is served as its spec says, and answers", func() {
		// The version looks like something else to YAML, to Kubernetes and to templates.
		const version = `on $(HOME) {{ .x }}`
		model := newModel(namespace, "sentiment", withParameters(parameters{"servedBy": "the parameters"}),
			func(spec *aiv1.AIModelSpec) {
				spec.ModelName, spec.ModelVersion, spec.Port = "feelings", version, ptr.To[int32](9090)
			})
		create(model)
		expectReady(model, aiv1.ReasonReady)
		Expect(model.Status.InferenceURL).To(Equal("http://sentiment." + namespace + ".svc.cluster.local:80" + inference))

		said := expectAnswers(model)
		Expect(said.Model).To(Equal("feelings"), "from MODEL_NAME")
		Expect(said.ModelVersion).To(Equal(version), "from MODEL_VERSION")
		Expect(said.ServedBy).To(Equal("the parameters"), "from MODEL_PARAMETERS")

		body, err := get(suiteCtx, viaService(namespace, "sentiment", "/v1/models"))
		Expect(err).NotTo(HaveOccurred())
		var models struct{ Data []struct{ ID string } }
		Expect(json.Unmarshal(body, &models)).To(Succeed())
		Expect(models.Data).To(HaveLen(1))
		Expect(models.Data[0].ID).To(Equal("feelings"))
	})

	ginkgo.It("is scaled with kubectl, to nothing and back", func() {
		model := newModel(namespace, "scaled")
		create(model)
		expectReady(model, aiv1.ReasonReady)

		kubectlScale(model, 3)
		expectPods(model, 3)
		expectReady(model, aiv1.ReasonReady)
		Expect(model.Status.Replicas).To(BeEquivalentTo(3))
		expectAnswersFrom(model, 3)

		kubectlScale(model, 0)
		expectReady(model, aiv1.ReasonScaledToZero)
		expectPods(model, 0)

		kubectlScale(model, 1)
		expectPods(model, 1)
		expectReady(model, aiv1.ReasonReady)
		expectAnswers(model)
	})

	ginkgo.It("gets the accelerators and the shared memory that an InferenceService asks for", func() {
		needGPUs()
		model := newModel(namespace, "entry", asEntry)
		service := newService(model, "on-gpus", withGPUs(2))
		create(model, service)
		expectReady(service, aiv1.ReasonReady)
		expectAnswers(service)
		Expect(refresh(model)).To(Succeed())
		Expect(condition(model, aiv1.ConditionReady).Reason).To(Equal(aiv1.ReasonCatalogued))

		server := thePod(service).Spec.Containers[0]
		Expect(server.Resources.Limits).To(HaveKeyWithValue(corev1.ResourceName(gpu), HaveField("Value()", BeEquivalentTo(2))))
		Expect(server.VolumeMounts).To(ContainElement(HaveField("MountPath", "/dev/shm")))
		Expect(thePod(service).Spec.Volumes).To(ContainElement(And(
			HaveField("Name", "shm"), HaveField("VolumeSource.EmptyDir.Medium", corev1.StorageMediumMemory))))
	})

	ginkgo.It("is not restarted when the operator is", func() {
		needGPUs()
		model := newModel(namespace, "steady", withReplicas(2))
		entry := newModel(namespace, "entry", asEntry)
		service := newService(entry, "steady-too", withGPUs(2))
		create(model, entry, service)
		expectReady(model, aiv1.ReasonReady)
		expectReady(service, aiv1.ReasonReady)
		before := incarnations(model, service)
		Expect(before).To(HaveLen(3))
		deployment := deploymentOf(namespace, "steady")
		Expect(refresh(deployment)).To(Succeed())
		generation := deployment.Generation

		operator.stop()
		expectAnswers(model)
		operator.start()

		// What it does for a new object proves that the new operator works. By then it has seen the others too.
		create(newModel(namespace, "later"))
		expectReady(newModel(namespace, "later"), aiv1.ReasonReady)
		Expect(incarnations(model, service)).To(Equal(before))
		Expect(refresh(deployment)).To(Succeed())
		Expect(deployment.Generation).To(Equal(generation), "its Deployment was changed")
		expectReady(model, aiv1.ReasonReady)
		expectAnswers(model)
	})

	ginkgo.It("leaves nothing behind when it is deleted", func() {
		model := newModel(namespace, "leaving", withReplicas(2))
		entry := newModel(namespace, "entry", asEntry)
		service := newService(entry, "leaving-too", func(spec *aiv1.InferenceServiceSpec) {
			spec.Autoscaling = &aiv1.Autoscaling{MaxReplicas: 2}
		})
		create(model, entry, service)
		expectReady(model, aiv1.ReasonReady)
		expectReady(service, aiv1.ReasonReady)
		Expect(left(Default, namespace)).To(ContainElements("Pod", "Service", "ServiceAccount", "Deployment",
			"ReplicaSet", "EndpointSlice", "PodDisruptionBudget", "HorizontalPodAutoscaler"))

		for _, object := range []client.Object{model, service, entry} {
			Expect(k8s.Delete(suiteCtx, object)).To(Succeed())
		}
		Eventually(func(g Gomega) { g.Expect(left(g, namespace)).To(BeEmpty()) }).WithTimeout(starting).Should(Succeed())
	})
})

// kubectlScale does what a user does.
func kubectlScale(object owner, replicas int) {
	ginkgo.GinkgoHelper()
	kind := "aimodels"
	if _, ok := object.(*aiv1.InferenceService); ok {
		kind = "inferenceservices"
	}
	command := exec.CommandContext(suiteCtx, kube.Kubectl, "scale", kind+"/"+object.GetName(), "--replicas="+strconv.Itoa(replicas),
		"--namespace="+object.GetNamespace(), "--kubeconfig="+kube.Kubeconfig)
	command.Env = append(os.Environ(), "KUBECACHEDIR="+tests.TempDir())
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
}

// incarnations tells, for each pod of some owners, how often it was restarted.
func incarnations(owners ...owner) map[types.UID]int {
	ginkgo.GinkgoHelper()
	found := map[types.UID]int{}
	for _, of := range owners {
		pods := podsOf(Default, of)
		for i := range pods {
			found[pods[i].UID] = restarts(&pods[i])
		}
	}
	return found
}

// left lists the kinds of which the operator, and those who work for it, still have something in a namespace.
func left(g Gomega, namespace string) []string {
	ginkgo.GinkgoHelper()
	var found []string
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Pod"),
		corev1.SchemeGroupVersion.WithKind("Service"),
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
		appsv1.SchemeGroupVersion.WithKind("Deployment"),
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
		discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
		autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		g.Expect(k8s.List(suiteCtx, list, client.InNamespace(namespace), client.MatchingLabels{aiv1.LabelManagedBy: aiv1.ManagedBy})).
			To(Succeed())
		if len(list.Items) > 0 {
			found = append(found, kind.Kind)
		}
	}
	return found
}
