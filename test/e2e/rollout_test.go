package e2e

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("A new version", func() {
	var namespace string
	ginkgo.BeforeEach(func() { namespace = newNamespace() })

	ginkgo.It("comes without a failed request", func() {
		model := newModel(namespace, "busy", withReplicas(2))
		create(model)
		expectReady(model, aiv1.ReasonReady)
		old := incarnations(model)

		asking := startTraffic(model, 4)
		Eventually(asking.answered).Should(HaveKeyWithValue("1", BeNumerically(">", 20)))
		edit(model, func() { model.Spec.ModelVersion = "2" })
		expectReady(model, aiv1.ReasonReady)
		// Requests go on until the last pod of the old version has gone.
		for _, pod := range expectPods(model, 2) {
			Expect(old).NotTo(HaveKey(pod.UID))
		}
		so := asking.answered()["2"]
		Eventually(asking.answered).Should(HaveKeyWithValue("2", BeNumerically(">", so+20)))
		asking.stop()

		Expect(asking.failed()).To(BeEmpty(), "answers by version: %v", asking.answered())
		Expect(expectAnswers(model).ModelVersion).To(Equal("2"))
	})

	ginkgo.It("of one replica that has every GPU takes the place of the old one", func() {
		needGPUs()
		model := newModel(namespace, "entry", asEntry)
		service := newService(model, "greedy", withGPUs(nodeGPUs), withValues(`{drain: {seconds: 1}}`))
		create(model, service)
		expectReady(service, aiv1.ReasonReady)
		old := thePod(service)
		Expect(expectAnswers(service).ModelVersion).To(Equal("1"))

		edit(model, func() { model.Spec.ModelVersion = "2" })
		Eventually(func(g Gomega) {
			said, err := ask(suiteCtx, service, "good")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(said.ModelVersion).To(Equal("2"))
		}).WithTimeout(starting).Should(Succeed())
		expectReady(service, aiv1.ReasonReady)
		expectPods(service, 1)
		Expect(thePod(service).UID).NotTo(Equal(old.UID))

		// Where GPUs are spare the next time, the new pod starts first again.
		deployment := deploymentOf(namespace, "greedy-server")
		Eventually(func(g Gomega) {
			g.Expect(refresh(deployment)).To(Succeed())
			g.Expect(deployment.Spec.Strategy.RollingUpdate.MaxUnavailable).To(HaveValue(HaveField("IntVal", BeZero())))
		}).Should(Succeed())
		Expect(deployment.Spec.Replicas).To(Equal(ptr.To[int32](1)))
	})
})
