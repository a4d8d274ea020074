package integration

import (
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// cycle is long enough for a container to crash, and for a pull to be tried, several times.
const cycle = 10 * time.Second

var _ = ginkgo.Describe("Status", func() {
	var namespace string
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
		model := newModel(namespace, "m")
		create(model)
		expectReady(model)
	})

	// crashing makes a container fail every second.
	crashing := func(how, lastWords string) func(*aiv1.InferenceServiceSpec) {
		return withValues("podAnnotations: {localkube.dev/behavior: " + how + ", localkube.dev/delay: 1s, localkube.dev/message: '" + lastWords + "'}")
	}

	ginkgo.It("says why pods do not start, in words that stay the same", func() {
		services := map[string]*aiv1.InferenceService{
			aiv1.ReasonUnschedulable:   newService(namespace, "too-big", "m", withGPUs(16)),
			aiv1.ReasonImageNotFound:   newService(namespace, "no-image", "m", withBehavior("image-pull-backoff")),
			aiv1.ReasonContainerConfig: newService(namespace, "no-secret", "m", withBehavior("config-error")),
			aiv1.ReasonCrashLoop:       newService(namespace, "crash", "m", crashing("crash-loop", "no kernel image is available")),
			aiv1.ReasonOOMKilled: newService(namespace, "oom", "m", crashing("oom-killed", ""), func(spec *aiv1.InferenceServiceSpec) {
				spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
			}),
		}
		words := map[string]string{
			aiv1.ReasonUnschedulable:   "Insufficient nvidia.com/gpu",
			aiv1.ReasonImageNotFound:   image,
			aiv1.ReasonContainerConfig: `secret "missing" not found`,
			aiv1.ReasonCrashLoop:       "exit code 1: no kernel image is available",
			aiv1.ReasonOOMKilled:       "limit of 1Gi",
		}
		for _, service := range services {
			create(service)
		}
		for reason, service := range services {
			expectReason(service, reason, words[reason])
			expectConsistent(service)
			for _, kind := range []string{aiv1.ConditionAvailable, aiv1.ConditionProgressing} {
				Expect(condition(service, kind).Status).To(Equal(metav1.ConditionFalse))
				Expect(condition(service, kind).Reason).To(Equal(reason), kind)
			}
			Expect(condition(service, aiv1.ConditionApplied).Status).To(Equal(metav1.ConditionTrue))
			Expect(condition(service, aiv1.ConditionReady).Message).NotTo(MatchRegexp(service.Name + "-server-[0-9a-f]"))
		}
		var versions []string
		for _, service := range services {
			Eventually(func() int32 { _ = refresh(service); return service.Status.Replicas }).Should(BeEquivalentTo(1))
			versions = append(versions, service.ResourceVersion)
		}
		// Meanwhile containers crash and pulls are tried again.
		Consistently(func(g Gomega) {
			for _, service := range services {
				before := service.DeepCopy()
				g.Expect(refresh(service)).To(Succeed())
				g.Expect(service.Status).To(Equal(before.Status))
				g.Expect(versions).To(ContainElement(service.ResourceVersion), service.Name)
			}
		}).WithTimeout(cycle).Should(Succeed())
		for reason, service := range services {
			expectEvents(service, corev1.EventTypeWarning, reason)
		}
	})

	ginkgo.It("keeps telling that something answers while a change fails", func() {
		service := newService(namespace, "s", "m")
		create(service)
		expectReady(service)
		edit(service, func() { crashing("crash-loop", "")(&service.Spec) })
		expectReason(service, aiv1.ReasonCrashLoop, "exit code 1")
		Expect(condition(service, aiv1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
		Expect(condition(service, aiv1.ConditionProgressing).Reason).To(Equal(aiv1.ReasonCrashLoop))
		edit(service, func() { service.Spec.ChartValues = nil })
		expectReady(service)
		expectEvents(service, corev1.EventTypeNormal, aiv1.ReasonReady, aiv1.ReasonRollingOut, aiv1.ReasonReady)
		expectEvents(service, corev1.EventTypeWarning, aiv1.ReasonCrashLoop)
	})

	ginkgo.It("says that pods are on their way", func() {
		service := newService(namespace, "s", "m", withValues("podAnnotations: {localkube.dev/behavior: slow-start, localkube.dev/delay: 4s}"))
		create(service)
		expectReason(service, aiv1.ReasonRollingOut, "0 of 1 replicas are available")
		Expect(condition(service, aiv1.ConditionProgressing).Status).To(Equal(metav1.ConditionTrue))
		Expect(service.Status.URL).NotTo(BeEmpty())
		expectReady(service)
		expectConsistent(service)
		Expect(condition(service, aiv1.ConditionProgressing).Status).To(Equal(metav1.ConditionFalse))
		expectEvents(service, corev1.EventTypeNormal, aiv1.ReasonReady)
	})

	ginkgo.It("leaves everything as it is while it is paused", func() {
		service := newService(namespace, "s", "m")
		create(service)
		expectReady(service)
		deployment := live(deploymentOf(namespace, "s-server"))
		expectUntouched(deployment, func() {
			edit(service, func() { service.Annotations = map[string]string{aiv1.AnnotationPaused: "true"} })
			expectState(service, metav1.ConditionUnknown, Equal(aiv1.ReasonPaused))
			edit(service, func() { service.Spec.Runtime.Args = []string{"--new"} })
			expectState(service, metav1.ConditionUnknown, Equal(aiv1.ReasonPaused), aiv1.AnnotationPaused)
			expectConsistent(service)
			Expect(condition(service, aiv1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
			Expect(service.Status.AvailableReplicas).To(BeEquivalentTo(1))
			Expect(recorded(service)).To(Equal(children(service)))
		})
		edit(service, func() { service.Annotations = nil })
		expectReady(service)
		Expect(refresh(deployment)).To(Succeed())
		Expect(deployment.Spec.Template.Spec.Containers[0].Args).To(Equal([]string{"--new"}))
	})

	ginkgo.It("shows in the columns of kubectl get", func() {
		broken := newService(namespace, "broken", "m", withGPUs(16))
		create(newModel(namespace, "served", withImage), newModel(namespace, "elsewhere", func(spec *aiv1.AIModelSpec) { spec.Endpoint = "https://api.example.org/v1" }), broken)
		expectReady(newModel(namespace, "served"), newModel(namespace, "elsewhere"))
		expectReason(broken, aiv1.ReasonUnschedulable)

		table := columns(kubectl("-n", namespace, "get", "aim"))
		Expect(table["NAME"]).To(Equal([]string{"MODEL", "READY", "REASON", "REPLICAS", "AVAILABLE", "URL", "AGE"}))
		Expect(table["served"][:6]).To(Equal([]string{"sentiment", "True", "Ready", "1", "1", "http://served." + namespace + ".svc.cluster.local:80"}))
		Expect(table["elsewhere"][:6]).To(Equal([]string{"sentiment", "True", "ServedElsewhere", "0", "0", "https://api.example.org/v1"}))
		table = columns(kubectl("-n", namespace, "get", "infsvc", "-o", "wide"))
		Expect(table["NAME"]).To(Equal([]string{"MODEL", "RUNTIME", "READY", "REASON", "REPLICAS", "AVAILABLE", "URL", "AGE", "MESSAGE"}))
		Expect(table["broken"][:6]).To(Equal([]string{"m", "custom", "False", "Unschedulable", "1", "0"}))
		Expect(kubectl("-n", namespace, "get", "ai", "-o", "name")).To(And(ContainSubstring("broken"), ContainSubstring("served")))
	})
})

// columns takes what kubectl prints apart: the fields of each row, by the first.
func columns(printed string) map[string][]string {
	rows := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(printed), "\n") {
		if fields := strings.Fields(line); len(fields) > 0 {
			rows[fields[0]] = fields[1:]
		}
	}
	return rows
}

// expectEvents holds that an object has just those events of a type, each a sentence that was sent once.
func expectEvents(of client.Object, kind string, reasons ...string) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		events := &eventsv1.EventList{}
		g.Expect(k8s.List(suiteCtx, events, client.InNamespace(of.GetNamespace()))).To(Succeed())
		var found []string
		for i := range events.Items {
			event := &events.Items[i]
			if event.Regarding.UID != of.GetUID() || event.Type != kind {
				continue
			}
			found = append(found, event.Reason)
			g.Expect(event.Note).To(ContainSubstring(" "), event.Reason)
			g.Expect(event.Note).NotTo(ContainSubstring("%!"))
			g.Expect(event.ReportingController).To(Equal(aiv1.ManagedBy))
		}
		g.Expect(found).To(ConsistOf(reasons), "events of %s", of.GetName())
	}).Should(Succeed())
}
