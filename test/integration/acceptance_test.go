package integration

import (
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("Accepted objects", func() {
	var namespace string
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
	})

	// load creates what a file has, in the namespace of the spec, whatever it says.
	load := func(file string) {
		ginkgo.GinkgoHelper()
		for _, object := range decodeAll("testdata/accepted/" + file) {
			object.SetNamespace(namespace)
			if spec, ok := object.Object["spec"].(map[string]any); ok {
				if ref, ok := spec["credentialsRef"].(map[string]any); ok && ref["namespace"] != nil {
					ref["namespace"] = namespace
				}
			}
			create(object)
		}
	}
	secret := func(name string, kind corev1.SecretType, data map[string]string) {
		create(&corev1.Secret{ObjectMeta: objectMeta(namespace, name), Type: kind, StringData: data})
	}

	ginkgo.It("serves a model with an image, replicas, a path and a pull secret", func() {
		secret("model-pull-secret", corev1.SecretTypeDockerConfigJson, map[string]string{".dockerconfigjson": `{"auths":{}}`})
		load("served-by-image.yaml")
		model := newModel(namespace, "my-sentiment-model")
		expectReady(model)
		Expect(model.Status.InferenceURL).To(Equal("http://my-sentiment-model." + namespace + ".svc.cluster.local:80/v1/inference/sentiment"))
		Expect(model.Status.AvailableReplicas).To(BeEquivalentTo(2))

		deployment := live(deploymentOf(namespace, "my-sentiment-model"))
		pod := deployment.Spec.Template.Spec
		Expect(pod.ImagePullSecrets).To(ConsistOf(corev1.LocalObjectReference{Name: "model-pull-secret"}))
		Expect(pod.Containers).To(HaveLen(1))
		Expect(pod.Containers[0].EnvFrom).To(BeEmpty())
		Expect(pod.Containers[0].Resources.Limits.Cpu().String()).To(Equal("500m"))
		Expect(pod.Containers[0].Resources.Requests.Memory().String()).To(Equal("512Mi"))
		Expect(deployment.Labels).To(And(
			HaveKeyWithValue("app.kubernetes.io/managed-by", "aimodel-operator"),
			HaveKeyWithValue("app.kubernetes.io/part-of", "aimodel-operator"),
			HaveKeyWithValue("app.kubernetes.io/instance", "my-sentiment-model"),
			HaveKeyWithValue(aiv1.LabelAIModel, "my-sentiment-model")))
		Expect(deployment.Spec.Selector.MatchLabels).To(HaveLen(2))
		service := live(serviceOf(namespace, "my-sentiment-model"))
		Expect(service.Spec.Ports[0].Port).To(BeEquivalentTo(80))
		Expect(service.Spec.Selector).To(Equal(deployment.Spec.Selector.MatchLabels))
	})

	ginkgo.It("records a model that is served elsewhere", func() {
		load("external-provider.yaml")
		model := newModel(namespace, "new-llm-model")
		expectReadyFor(model, aiv1.ReasonServedElsewhere)
		Expect(model.Status.ModelEndpoint).To(Equal("https://api.example.org/gemma/v1"))
		Expect(model.Status.InferenceURL).To(BeEmpty())
		Expect(children(model)).To(BeEmpty())
	})

	ginkgo.It("brings strings that look like something else through unchanged", func() {
		load("hostile-strings.yaml")
		model := newModel(namespace, "1e3")
		expectReady(model)
		Expect(model.Labels).To(Equal(map[string]string{"rack": "12", "on": "y", "team": "null", "empty": ""}))
		Expect(recorded(model)).To(HaveLen(3))
		deployment := live(deploymentOf(namespace, model.Status.Inventory[0].Name))
		Expect(deployment.Labels).To(HaveKeyWithValue(aiv1.LabelAIModel, "1e3"))
		env := environmentOf(deployment.Spec.Template.Spec.Containers[0])
		Expect(env).To(And(HaveKeyWithValue("MODEL_NAME", "123"), HaveKeyWithValue("MODEL_VERSION", "on")))
		Expect(deployment.Spec.Template.Annotations).To(HaveKeyWithValue(aiv1.AnnotationOwner, "1e3"))
	})

	ginkgo.It("serves a model with a name of 240 characters and dots", func() {
		load("long-name.yaml")
		list := &aiv1.AIModelList{}
		Expect(k8s.List(suiteCtx, list, client.InNamespace(namespace))).To(Succeed())
		expectReady(&list.Items[0])
		expectShortNames(&list.Items[0])
	})

	ginkgo.It("serves an LLM on GPUs with a token and an autoscaler", func() {
		secret("hf-token", corev1.SecretTypeOpaque, map[string]string{"token": "s3cret"})
		load("llama-gpu.yaml")
		service := newService(namespace, "llama", "")
		expectReady(service)
		Expect(service.Status.URL).To(Equal("http://llama-server." + namespace + ".svc.cluster.local:80/v1"))
		Expect(children(service)).To(ConsistOf("Deployment/llama-server", "Service/llama-server", "ServiceAccount/llama-server",
			"PodDisruptionBudget/llama-server", "HorizontalPodAutoscaler/llama-server"))

		deployment := live(deploymentOf(namespace, "llama-server"))
		server := deployment.Spec.Template.Spec.Containers[0]
		Expect(server.Args).To(Equal([]string{"meta-llama/Llama-3.1-8B-Instruct", "--revision=main",
			"--served-model-name=llama-3-8b-instruct", "--tensor-parallel-size=2", "--port=8000", "--max-model-len=8192"}))
		gpus := server.Resources.Limits["nvidia.com/gpu"]
		Expect(gpus.Value()).To(BeEquivalentTo(2))
		Expect(deployment.Labels).To(And(HaveKeyWithValue(aiv1.LabelAIModel, "llama-3-8b"), HaveKeyWithValue(aiv1.LabelInferenceService, "llama")))
		token := corev1.EnvVar{Name: "HF_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "hf-token"}, Key: "token"}}}
		Expect(server.Env).To(ContainElement(token))

		autoscaler := live(autoscalerOf(namespace, "llama-server"))
		Expect(autoscaler.Spec.ScaleTargetRef.Kind).To(Equal("InferenceService"))
		Expect(autoscaler.Spec.ScaleTargetRef.Name).To(Equal("llama"))
		Expect(autoscaler.Spec.Metrics).To(Equal(service.Spec.Autoscaling.Metrics))
		Expect(*autoscaler.Spec.Behavior.ScaleDown.StabilizationWindowSeconds).To(BeEquivalentTo(600))
		Expect(autoscaler.Spec.Behavior.ScaleDown.Policies).To(Equal(service.Spec.Autoscaling.Behavior.ScaleDown.Policies))
	})

	ginkgo.It("serves both kinds under every legal name", func() {
		var owners []owner
		for _, name := range []string{
			strings.Repeat("a", 253), strings.Repeat("1.", 126) + "1", "0", "7b", "a.b.c", "a-server", "true", "null", "1e3", "0x1f",
			"y", "on", strings.Repeat("x", 56), strings.Repeat("x", 57), strings.Repeat("x", 63), strings.Repeat("x", 64),
		} {
			owners = append(owners, newModel(namespace, name, withImage), newService(namespace, name, name))
		}
		for _, object := range owners {
			create(object)
		}
		expectReady(owners...)
		names := map[string]bool{}
		for _, object := range owners {
			expectShortNames(object)
			names[object.GetServingStatus().Inventory[0].Name] = true
		}
		Expect(names).To(HaveLen(len(owners)), "two owners share the names of their children")
	})

	ginkgo.It("brings hostile arguments, variables and selectors through unchanged", func() {
		texts := []string{"true", "no", "12", "012", "1e3", "null", "~", "''", "\"", "a: b", "- a", "# c", "{{ .Values }}", "{{", "}}",
			"two\nlines\n", "\ttab", "\\n", "%d", "$(PATH)", "$$", "&a *b !c |", "<no value>", "---", "é€😀", " ", ""}
		service := newService(namespace, "hostile", "m", func(spec *aiv1.InferenceServiceSpec) {
			spec.Runtime.Args = texts
			for i, text := range texts {
				spec.Runtime.Env = append(spec.Runtime.Env, corev1.EnvVar{Name: "V" + strings.Repeat("_", i), Value: text})
			}
			spec.Placement = &aiv1.Placement{NodeSelector: map[string]string{"on": "off", "1": "1_000", "null": "null"}}
			spec.Replicas = ptr.To[int32](0)
		})
		create(newModel(namespace, "m"), service)
		expectReadyFor(service, aiv1.ReasonScaledToZero)
		pod := live(deploymentOf(namespace, "hostile-server")).Spec.Template.Spec
		Expect(pod.Containers[0].Args).To(Equal(texts))
		Expect(pod.NodeSelector).To(Equal(service.Spec.Placement.NodeSelector))
		Expect(pod.Containers[0].Env).To(ContainElements(service.Spec.Runtime.Env))
	})
})

// expectShortNames holds that the children of an owner have names, and marks, that any object may have.
func expectShortNames(object owner) {
	ginkgo.GinkgoHelper()
	Expect(recorded(object)).To(Equal(children(object)))
	Expect(recorded(object)).NotTo(BeEmpty())
	for _, entry := range object.GetServingStatus().Inventory {
		Expect(len(entry.Name)).To(BeNumerically("<=", 63))
		Expect(entry.Name).To(MatchRegexp(`^[a-z]([-a-z0-9]*[a-z0-9])?$`))
	}
	deployment := live(deploymentOf(object.GetNamespace(), object.GetServingStatus().Inventory[0].Name))
	Expect(deployment.Spec.Template.Annotations).To(HaveKeyWithValue(aiv1.AnnotationOwner, object.GetName()))
}

func environmentOf(container corev1.Container) map[string]string {
	env := map[string]string{}
	for _, variable := range container.Env {
		env[variable.Name] = variable.Value
	}
	return env
}
