package integration

import (
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
)

// installed is how long it may take until the operator uses an API that was installed. No watch tells of that.
const installed = 40 * time.Second

var _ = describeOwnOperators("A PodMonitor", func() {
	var namespace string
	var running *operator
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		if servesPodMonitors() {
			ginkgo.Skip("SKIPPED: this cluster serves PodMonitors already, and the spec needs one that does not at first")
		}
		namespace = newNamespace()
		running = runOperator(operatorSettings{})
	})

	monitored := withValues("podMonitor: {enabled: true, interval: 30s, labels: {release: prometheus}}")

	ginkgo.It("is missed while the cluster lacks its API, and is kept like any child from then on", func() {
		service := newService(namespace, "s", "m", monitored)
		create(newModel(namespace, "m"), service)

		ginkgo.By("serving all the same")
		expectReason(service, aiv1.ReasonAPINotServed, "PodMonitor", monitoringv1.GroupVersion.String())
		applied := condition(service, aiv1.ConditionApplied)
		Expect(applied.Status).To(Equal(metav1.ConditionFalse))
		Expect(applied.Reason).To(Equal(aiv1.ReasonAPINotServed))
		Expect(children(service)).To(ConsistOf("Deployment/s-server", "Service/s-server", "ServiceAccount/s-server"))
		expectServing(service)
		expectConsistent(service)

		ginkgo.By("noticing that the API is there")
		installPodMonitors()
		monitor := podMonitorOf(namespace, "s-server")
		Eventually(refresh).WithArguments(monitor).WithTimeout(installed).Should(Succeed())
		expectReady(service)
		Expect(monitor.Labels).To(HaveKeyWithValue("release", "prometheus"))
		Expect(metav1.IsControlledBy(monitor, service)).To(BeTrue())
		Expect(monitor.Spec.Selector.MatchLabels).To(Equal(live(deploymentOf(namespace, "s-server")).Spec.Selector.MatchLabels))
		Expect(recorded(service)).To(ContainElement("PodMonitor/s-server"))

		ginkgo.By("putting it back when somebody changes it")
		endpoints := monitor.DeepCopy().Spec.PodMetricsEndpoints
		edit(monitor, func() { monitor.Spec.PodMetricsEndpoints[0].Path = "/elsewhere" })
		Eventually(func(g Gomega) {
			g.Expect(refresh(monitor)).To(Succeed())
			g.Expect(monitor.Spec.PodMetricsEndpoints).To(Equal(endpoints))
		}).WithTimeout(atOnce).Should(Succeed())
		before := monitor.UID
		Expect(k8s.Delete(suiteCtx, monitor)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(refresh(monitor)).To(Succeed())
			g.Expect(monitor.UID).NotTo(Equal(before))
		}).WithTimeout(atOnce).Should(Succeed())

		ginkgo.By("deleting it when it is no longer asked for")
		edit(service, func() { service.Spec.ChartValues = nil })
		expectGone(monitor)
		expectReady(service)
		Expect(recorded(service)).To(Equal(children(service)))
	})

	ginkgo.It("holds nothing up when its API goes, and is back when that is", func() {
		crd := installPodMonitors()
		service := newService(namespace, "s", "m", monitored)
		create(newModel(namespace, "m"), service)
		live(podMonitorOf(namespace, "s-server"))
		expectReady(service)

		remove(crd)
		edit(service, func() {
			withValues("{podMonitor: {enabled: true}, podLabels: {team: a}}")(&service.Spec)
		})
		Eventually(func(g Gomega) {
			deployment := deploymentOf(namespace, "s-server")
			g.Expect(refresh(deployment)).To(Succeed())
			g.Expect(deployment.Spec.Template.Labels).To(HaveKeyWithValue("team", "a"))
			g.Expect(refresh(service)).To(Succeed())
			g.Expect(condition(service, aiv1.ConditionApplied).Status).To(Equal(metav1.ConditionFalse))
		}).Should(Succeed())
		expectServing(service)

		ginkgo.By("leaving others alone")
		other := newService(namespace, "other", "m")
		create(other)
		expectReady(other)

		ginkgo.By("making it anew")
		installPodMonitors()
		Eventually(refresh).WithArguments(podMonitorOf(namespace, "s-server")).WithTimeout(2 * healing).Should(Succeed())
		expectReady(service)
	})

	ginkgo.It("is forgotten with its API", func() {
		crd := installPodMonitors()
		service := newService(namespace, "s", "m", monitored)
		create(newModel(namespace, "m"), service)
		live(podMonitorOf(namespace, "s-server"))
		expectReady(service)

		remove(crd)
		edit(service, func() { service.Spec.ChartValues = nil })
		expectReady(service)
		Expect(recorded(service)).To(Equal(children(service)))

		ginkgo.By("by an operator that never saw it, too")
		running.stop()
		edit(service, func() { monitored(&service.Spec) })
		runOperator(operatorSettings{})
		expectReason(service, aiv1.ReasonAPINotServed)
		edit(service, func() { service.Spec.ChartValues = nil })
		expectReady(service)
		remove(service)
	})
})

// expectServing waits until the pods of an owner serve, whatever else is wrong.
func expectServing(object owner) {
	ginkgo.GinkgoHelper()
	Eventually(func() metav1.ConditionStatus {
		_ = refresh(object)
		return condition(object, aiv1.ConditionAvailable).Status
	}).Should(Equal(metav1.ConditionTrue))
}

func podMonitorOf(namespace, name string) *monitoringv1.PodMonitor {
	return &monitoringv1.PodMonitor{ObjectMeta: objectMeta(namespace, name)}
}

func servesPodMonitors() bool {
	ginkgo.GinkgoHelper()
	err := k8s.Get(suiteCtx, client.ObjectKeyFromObject(podMonitorCRD()), podMonitorCRD())
	Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
	return err == nil
}

// needNoPodMonitors skips a spec that has the cluster serve PodMonitors where they are somebody else's.
func needNoPodMonitors() {
	ginkgo.GinkgoHelper()
	if servesPodMonitors() {
		ginkgo.Skip("SKIPPED: this cluster serves PodMonitors already, and the spec installs its own")
	}
}

func podMonitorCRD() *unstructured.Unstructured {
	ginkgo.GinkgoHelper()
	return decodeAll("testdata/podmonitor-crd.yaml")[0]
}

// installPodMonitors has the cluster serve PodMonitors until the spec ends.
func installPodMonitors() *unstructured.Unstructured {
	ginkgo.GinkgoHelper()
	crd := podMonitorCRD()
	create(crd)
	ginkgo.DeferCleanup(func() {
		if servesPodMonitors() {
			remove(podMonitorCRD())
		}
	})
	Eventually(func() error { return k8s.List(suiteCtx, &monitoringv1.PodMonitorList{}) }).Should(Succeed())
	return crd
}
