package e2e

import (
	"fmt"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// loading is how long the slow model loads. It begins when its container starts.
const loading = 25 * time.Second

// fetching is how long the init container of the slow model runs before that.
const fetching = 4 * time.Second

// The three of them are created at the same time: each has to be waited for.
var _ = ginkgo.Describe("A model that", ginkgo.Ordered, func() {
	var slow, tooSlow, ailing *aiv1.InferenceService

	ginkgo.BeforeAll(func() {
		namespace := newNamespace()
		slowEntry := newModel(namespace, "slow", asEntry, withParameters(parameters{"loadDelay": loading.String()}))
		slow = newService(slowEntry, "slow", withValues(fmt.Sprintf(`{startup: {budgetSeconds: 120}, probes: {startup: {periodSeconds: 1}},
			extraVolumes: [{name: weights, emptyDir: {}}], extraVolumeMounts: [{name: weights, mountPath: /weights, readOnly: true}],
			initContainers: [{name: fetch, image: %q, args: [--exit-after=%s, --exit-code=0], volumeMounts: [{name: weights, mountPath: /weights}]}]}`,
			image, fetching)))
		tooSlowEntry := newModel(namespace, "too-slow", asEntry, withParameters(parameters{"loadDelay": "1h"}))
		tooSlow = newService(tooSlowEntry, "too-slow",
			withValues(`{startup: {budgetSeconds: 6}, probes: {startup: {periodSeconds: 2}}, drain: {seconds: 1}}`))
		ailingEntry := newModel(namespace, "ailing", asEntry, withParameters(parameters{"failHealthAfter": "10s"}))
		ailing = newService(ailingEntry, "ailing",
			withValues(`{probes: {startup: {periodSeconds: 1}, readiness: {periodSeconds: 1}, liveness: {periodSeconds: 2}}, drain: {seconds: 1}}`))
		create(slowEntry, slow, tooSlowEntry, tooSlow, ailingEntry, ailing)
	})

	ginkgo.It("loads slowly, within its budget, is waited for", func() {
		var began time.Time
		Eventually(func(g Gomega) {
			pods := podsOf(g, slow)
			g.Expect(pods).To(HaveLen(1))
			g.Expect(pods[0].Status.ContainerStatuses).To(HaveLen(1))
			g.Expect(pods[0].Status.ContainerStatuses[0].State.Running).NotTo(BeNil())
			began = pods[0].Status.ContainerStatuses[0].State.Running.StartedAt.Time
		}).WithTimeout(starting).Should(Succeed())

		// The start is told in whole seconds.
		Consistently(func(g Gomega) {
			g.Expect(refresh(slow)).To(Succeed())
			g.Expect(condition(slow, aiv1.ConditionReady).Status).To(BeEquivalentTo("False"), story(slow))
			g.Expect(condition(slow, aiv1.ConditionReady).Reason).To(Equal(aiv1.ReasonRollingOut), story(slow))
		}).WithTimeout(time.Until(began.Add(loading - time.Second))).Should(Succeed())

		expectReady(slow, aiv1.ReasonReady)
		Expect(restarts(thePod(slow))).To(BeZero())
		expectAnswers(slow)

		phases := slow.Status.Phases
		Expect(phases).NotTo(BeNil())
		Expect(phases.WeightsSeconds).To(HaveValue(BeNumerically(">=", int64(fetching/time.Second)-1)))
		Expect(phases.StartSeconds).To(HaveValue(BeNumerically(">=", int64(loading/time.Second)-1)))
		Expect(*phases.WeightsSeconds + *phases.StartSeconds).To(BeNumerically("<=", phases.ReadySeconds))
	})

	ginkgo.It("does not load within its budget is restarted, and says so", func() {
		expectReason(tooSlow, aiv1.ReasonStartupProbeFailing)
		Eventually(func(g Gomega) {
			g.Expect(refresh(tooSlow)).To(Succeed())
			g.Expect(condition(tooSlow, aiv1.ConditionReady).Message).To(And(
				ContainSubstring("was killed because it did not pass its startup probe within 6s"), ContainSubstring("statuscode: 503")), story(tooSlow))
		}).WithTimeout(starting).Should(Succeed())
		Expect(tooSlow.Status.Failure.Container).To(Equal("server"))
		Expect(restarts(thePod(tooSlow))).To(BeNumerically(">", 0))
	})

	ginkgo.It("becomes unhealthy is restarted, and says so", func() {
		Eventually(func(g Gomega) {
			pods := podsOf(g, ailing)
			g.Expect(pods).To(HaveLen(1))
			g.Expect(restarts(&pods[0])).To(BeNumerically(">", 0))
		}).WithTimeout(starting).Should(Succeed())
		expectEvent(ailing, aiv1.ReasonReady)
		expectEvent(ailing, aiv1.ReasonLivenessFailing)
		Expect(thePod(ailing).Status.ContainerStatuses).To(ContainElement(
			HaveField("LastTerminationState.Terminated", Not(BeNil()))))
		Expect(thePod(ailing).Status.Phase).To(Equal(corev1.PodRunning))
	})
})
