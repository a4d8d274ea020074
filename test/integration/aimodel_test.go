package integration

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("An AIModel", func() {
	var namespace string
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
	})

	ginkgo.It("with an image is served", func() {
		model := newModel(namespace, "sentiment", withImage, withReplicas(2), func(spec *aiv1.AIModelSpec) { spec.Endpoint = "/v1/x" })
		create(model)
		expectReadyFor(model, aiv1.ReasonReady)
		Expect(model.Status.InferenceURL).To(Equal("http://sentiment." + namespace + ".svc.cluster.local:80/v1/x"))
		Expect(model.Status.Replicas).To(BeEquivalentTo(2))
		Expect(model.Status.ReadyReplicas).To(BeEquivalentTo(2))
		Expect(model.Status.AvailableReplicas).To(BeEquivalentTo(2))
		Expect(children(model)).To(ConsistOf("Deployment/sentiment", "Service/sentiment", "ServiceAccount/sentiment",
			"PodDisruptionBudget/sentiment"))
		Expect(recorded(model)).To(Equal(children(model)))
		expectConsistent(model)
	})
})
