package integration

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = ginkgo.Describe("The phases of a start", func() {
	ginkgo.It("are written once a revision", func() {
		needSimulatedPods()
		namespace := newNamespace()
		service := newService(namespace, "s", "m", withValues("podAnnotations: {localkube.dev/behavior: slow-start, localkube.dev/delay: 4s}"))
		create(newModel(namespace, "m"), service)
		expectReady(service)
		first := service.Status.Phases
		Expect(first).NotTo(BeNil())
		Expect(first.WeightsSeconds).To(BeNil())
		Expect(first.Revision).To(BeEquivalentTo(1))
		Expect(first.ReadySeconds).To(BeNumerically(">=", 3))
		for _, part := range []*int64{first.SchedulingSeconds, first.PreparingSeconds, first.ImagePullSeconds, first.StartSeconds} {
			Expect(part).To(HaveValue(BeNumerically("<=", first.ReadySeconds)))
		}

		two := int32(2)
		edit(service, func() { service.Spec.Replicas = &two })
		expectReady(service)
		Expect(service.Status.Phases).To(Equal(first))
		edit(service, func() { service.Spec.ChartValues = nil })
		expectReady(service)
		Expect(service.Status.Phases.Revision).To(BeEquivalentTo(2))
	})

	ginkgo.It("tell the weights apart, where an init container fetches them", func() {
		needSimulatedPods()
		namespace := newNamespace()
		service := newService(namespace, "s", "m", withValues(`
podAnnotations: {localkube.dev/behavior: slow-init, localkube.dev/delay: 4s}
extraVolumes: [{name: weights, emptyDir: {}}]
extraVolumeMounts: [{name: weights, mountPath: /weights, readOnly: true}]
initContainers: [{name: fetch, image: "fetch:1", volumeMounts: [{name: weights, mountPath: /weights}]}]`))
		create(newModel(namespace, "m"), service)
		expectReady(service)
		phases := service.Status.Phases
		Expect(phases).NotTo(BeNil())
		Expect(phases.WeightsSeconds).To(HaveValue(BeNumerically(">=", 3)))
		Expect(phases.WeightsSeconds).To(HaveValue(BeNumerically("<=", phases.ReadySeconds)))
		// What runs for no longer than the weights takes no time of its own: moments are told in whole seconds.
		Expect(phases.PreparingSeconds).To(HaveValue(BeNumerically("<=", 1)))
		Expect(phases.StartSeconds).To(HaveValue(BeZero()))
	})
})
