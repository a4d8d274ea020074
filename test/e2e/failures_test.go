package e2e

import (
	"time"

	"github.com/onsi/ginkgo/v2"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("A model that does not run says why", func() {
	var namespace string
	ginkgo.BeforeEach(func() { namespace = newNamespace() })

	ginkgo.It("when it uses more memory than its limit, and heals", func() {
		model := newModel(namespace, "hungry", withParameters(parameters{"allocateMib": 256}))
		create(model)
		expectReason(model, aiv1.ReasonOOMKilled, "64Mi")
		expectEvent(model, aiv1.ReasonOOMKilled)

		edit(model, func() { model.Spec.Parameters = parameters{"allocateMib": 1}.raw() })
		expectReady(model, aiv1.ReasonReady)
		expectAnswers(model)
	})

	ginkgo.It("when it exits again and again", func() {
		model := newModel(namespace, "crashing", withParameters(parameters{"exitAfter": "0s", "exitCode": 3}))
		create(model)
		expectReason(model, aiv1.ReasonCrashLoop, "exit code 3", "Crashing, as told by exit-after")
		expectEvent(model, aiv1.ReasonCrashLoop)
	})

	ginkgo.It("when its image cannot be pulled, in words that stay the same", func() {
		const nowhere = "127.0.0.1:1/nobody/model:1"
		model := newModel(namespace, "unpullable", func(spec *aiv1.AIModelSpec) { spec.Image = nowhere })
		create(model)
		expectReason(model, aiv1.ReasonRegistryUnreachable, nowhere, "connection refused")
		// Meanwhile the kubelet tries again, and tells of a failed pull and of the pause after it in turns.
		expectStill(model, 15*time.Second)
	})
})
