package integration

import (
	"bytes"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli"
)

var _ = ginkgo.Describe("kubectl aimodel why", func() {
	ginkgo.It("sees for itself that an autoscaler does not scale, and says what to do though the model is ready", func() {
		needSimulatedPods()
		namespace := newNamespace()
		service := newService(namespace, "s", "m", withAutoscaling(3))
		create(newModel(namespace, "m"), service)
		expectReady(service)
		Eventually(func() []autoscalingv2.HorizontalPodAutoscalerCondition {
			return live(autoscalerOf(namespace, "s-server")).Status.Conditions
		}).WithTimeout(healing).Should(ContainElement(And(
			HaveField("Type", autoscalingv2.ScalingActive), HaveField("Status", corev1.ConditionFalse))))
		Expect(tell(namespace, "why", "s")).NotTo(ContainSubstring(aiv1.ReasonScalingInactive), "it may be without metrics for some minutes")

		// The operator has not said so yet: somebody looks after ten minutes.
		var out, err bytes.Buffer
		code := cli.Run(suiteCtx, []string{"--kubeconfig", kube.Kubeconfig, "why", "s", "-n", namespace}, cli.Options{
			Out: &out, Err: &err, Version: "test", Now: func() time.Time { return time.Now().Add(10 * time.Minute) }})
		Expect(code).To(BeZero(), err.String())
		Expect(refresh(service)).To(Succeed())
		Expect(condition(service, aiv1.ConditionScalingActive).Status).To(BeEquivalentTo("Unknown"))
		Expect(out.String()).To(And(ContainSubstring("InferenceService "+namespace+"/s is ready"),
			MatchRegexp(`seen just now: ScalingInactive: the autoscaler does not scale \(FailedGetResourceMetric\): .*failed to get cpu`),
			MatchRegexp(`HorizontalPodAutoscaler/s-server +wants \d, between 1 and 3, ScalingInactive`), ContainSubstring("metrics-server")))
	})

	ginkgo.It("names the Jobs that fill a claim, and blames none", func() {
		needSimulatedPods()
		namespace := newNamespace()
		createClaim(namespace, "weights")
		create(fetching(namespace, "fails", "evicted"), fetching(namespace, "goes-on", "container-creating"),
			newModel(namespace, "m"))
		service := newService(namespace, "s", "m", crashingOnClaim)
		create(service)
		expectReason(service, aiv1.ReasonCrashLoop)
		Eventually(func() string { return tell(namespace, "why", "s") }).WithTimeout(healing).Should(And(
			MatchRegexp(`Pod/s-server-\S+ .*CrashLoop  ◀ the cause`),
			MatchRegexp(`PersistentVolumeClaim/weights +Bound\n`),
			MatchRegexp(`Job/fails +failed: BackoffLimitExceeded\n`),
			MatchRegexp(`Job/goes-on +not finished, 1 of its pods active\n`)))
	})
})
