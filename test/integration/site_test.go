package integration

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = describeOwnOperators("The environment of the operator", func() {
	ginkgo.BeforeEach(needSimulatedPods)

	withSource := func(uri string) func(*aiv1.AIModelSpec) {
		return func(spec *aiv1.AIModelSpec) { spec.Source = &aiv1.ModelSource{URI: uri} }
	}
	withRuntime := func(spec *aiv1.InferenceServiceSpec) { spec.Runtime = aiv1.Runtime{Name: aiv1.RuntimeVLLM} }
	server := func(namespace, name string) corev1.Container {
		ginkgo.GinkgoHelper()
		deployment := deploymentOf(namespace, name)
		Expect(refresh(deployment)).To(Succeed())
		return deployment.Spec.Template.Spec.Containers[0]
	}
	variable := func(container corev1.Container, name string) string {
		for _, v := range container.Env {
			if v.Name == name {
				return v.Value
			}
		}
		return ""
	}

	ginkgo.It("gives models that fetch their weights a proxy, and services the images that it names", func() {
		// Where an operator is installed too, the plugin takes the first namespace that has one.
		namespace := newNamespaceNamed("a-")
		hub, bucket, volume := newModel(namespace, "hub", withSource("hf://acme/llama")),
			newModel(namespace, "bucket", withSource("s3://acme/llama"), withImage), newModel(namespace, "volume", withSource("pvc://weights/llama"))
		fetched, mounted := newService(namespace, "fetched", "hub", withRuntime), newService(namespace, "mounted", "volume", withRuntime)
		variables := map[string]string{
			"HTTPS_PROXY": "http://proxy.example.com:3128", "HTTP_PROXY": "http://user:hunter2@proxy.example.com:3128", "NO_PROXY": ".example.com",
			"RELATED_IMAGE_RUNTIME_VLLM": "registry.internal/vllm@sha256:11",
		}
		o := startOperator(operatorSettings{namespaces: []string{namespace}, variables: variables})
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "weights"}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		create(hub, bucket, volume, fetched, mounted, claim)
		expectReady(bucket, fetched)
		Eventually(func() error { return refresh(deploymentOf(namespace, "mounted-server")) }).Should(Succeed())
		for _, name := range []string{"bucket", "fetched-server"} {
			container := server(namespace, name)
			Expect(variable(container, "https_proxy")).To(Equal("http://proxy.example.com:3128"))
			Expect(variable(container, "NO_PROXY")).To(HavePrefix(".example.com,localhost,"))
			Expect(variable(container, "HTTP_PROXY")).To(BeEmpty(), "it has a password")
		}
		Expect(variable(server(namespace, "mounted-server"), "https_proxy")).To(BeEmpty())
		Expect(server(namespace, "mounted-server").Image).To(Equal("registry.internal/vllm@sha256:11"))

		ginkgo.By("which the plugin knows from the operator's Deployment")
		installed := operatorDeployment(namespace, variables)
		create(installed)
		Expect(tell(namespace, "diff", "fetched")).To(BeEmpty())
		remove(installed)
		code, out, _ := plugin(suiteCtx, "", "diff", "fetched", "-n", namespace)
		Expect(code).To(Equal(1))
		Expect(out).To(ContainSubstring("https_proxy"))
		o.stop()

		ginkgo.By("and another proxy rolls out what fetches weights, and nothing else")
		unchanged := deploymentOf(namespace, "mounted-server")
		Expect(refresh(unchanged)).To(Succeed())
		variables["HTTPS_PROXY"] = "http://proxy.example.com:3129"
		o = runOperator(operatorSettings{namespaces: []string{namespace}, variables: variables})
		Eventually(func() string { return variable(server(namespace, "fetched-server"), "HTTPS_PROXY") }).Should(Equal("http://proxy.example.com:3129"))
		expectReady(fetched, bucket)
		expectQuiet(o)
		again := deploymentOf(namespace, "mounted-server")
		Expect(refresh(again)).To(Succeed())
		Expect(again.Generation).To(Equal(unchanged.Generation))
	})
})

// operatorDeployment is what an installation has, as far as the plugin looks at it. It runs nothing.
func operatorDeployment(namespace string, variables map[string]string) *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": "aimodel-operator", "app.kubernetes.io/component": "controller-manager"}
	deployment := deploymentOf(namespace, "controller-manager")
	deployment.Labels = labels
	container := corev1.Container{Name: "manager", Image: image}
	for name, value := range variables {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: value})
	}
	deployment.Spec = appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](0),
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
		},
	}
	return deployment
}
