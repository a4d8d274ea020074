package integration

import (
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// reproduction is one way in which a service does not come up.
type reproduction struct {
	// prepare makes the namespace as it has to be. Nil: nothing is needed.
	prepare func(namespace string)
	// change is what is special about the service.
	change []func(*aiv1.InferenceServiceSpec)
	// happens is what happens to it once it exists.
	happens func(*aiv1.InferenceService)
	// words are part of the message, and object is what the failure is about, as "Kind/name".
	words  []string
	object string
	// advisory says that Ready does not depend on it.
	advisory bool
	// behind is the reason that Ready has, where this one's message stands behind that one's.
	behind string
}

// limited asks for memory.
func limited(spec *aiv1.InferenceServiceSpec) {
	spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
}

// reproductions has one for each reason that can be diagnosed.
func reproductions() map[string]reproduction {
	pull := func(words string) reproduction {
		return reproduction{change: withBehaviors("image-pull-backoff", "message", words), words: []string{words}}
	}
	return map[string]reproduction{
		aiv1.ReasonOOMKilled: {change: append(withBehaviors("oom-killed"), limited), words: []string{"limit of 1Gi"}},
		aiv1.ReasonImagePlatformMismatch: {words: []string{"another processor"},
			change: withBehaviors("crash-loop", "exit-code", "255", "message", "exec /server: exec format error")},
		aiv1.ReasonLivenessFailing: {change: withBehaviors("liveness-failing"),
			words: []string{"liveness probe failed: HTTP probe failed with statuscode: 503"}},
		aiv1.ReasonStartupProbeFailing: {change: withBehaviors("starting", "age", "16m"),
			words: []string{"it has until 20", "30m0s after its start"}},
		aiv1.ReasonCrashLoop:           {change: withBehaviors("crash-loop"), words: []string{"exit code 1"}},
		aiv1.ReasonContainerConfig:     {change: withBehaviors("config-error"), words: []string{`secret "missing" not found`}},
		aiv1.ReasonInvalidImageName:    {change: withBehaviors("invalid-image-name"), words: []string{"couldn't parse image name"}},
		aiv1.ReasonImageUnauthorized:   pull("failed to authorize: 401 Unauthorized"),
		aiv1.ReasonImageNotFound:       {change: withBehaviors("image-pull-backoff"), words: []string{image, "not found"}},
		aiv1.ReasonRegistryUnreachable: pull("dial tcp 192.0.2.1:443: i/o timeout"),
		aiv1.ReasonImagePull:           pull("no space left on device"),
		aiv1.ReasonAcceleratorUnhealthy: {change: withBehaviors(unplayed), words: []string{"no healthy devices"},
			happens: plays("rejected", "UnexpectedAdmissionError", "Pod was rejected: Allocate failed due to no healthy devices present")},
		aiv1.ReasonVolumeNotBound: {change: []func(*aiv1.InferenceServiceSpec){withClaim("nowhere")}, words: []string{"does not exist"},
			object: "PersistentVolumeClaim/nowhere"},
		aiv1.ReasonVolumeMountFailed: {change: withBehaviors("mount-failed"), words: []string{"mount failed: exit status 32"}},
		aiv1.ReasonSandboxFailed:     {change: withBehaviors("sandbox-failed"), words: []string{"no IP addresses"}},
		aiv1.ReasonNodeRefused: {change: withBehaviors(unplayed), words: []string{"OutOfcpu", "not enough cpu"},
			happens: plays("rejected", "OutOfcpu", "Pod was rejected: not enough cpu")},
		aiv1.ReasonNodeLost: {change: []func(*aiv1.InferenceServiceSpec){onDeadNode}, prepare: deadNode, object: "Node/" + deadNodeName,
			words: []string{"is not ready"}, happens: lastSeenRunning},
		aiv1.ReasonRolloutBlocked: {words: []string{"the old revision goes on serving", "Insufficient cpu", "A replica asks for 1k cpu"},
			happens: func(service *aiv1.InferenceService) {
				expectReady(service)
				edit(service, func() {
					service.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1k")}}
				})
			}},
		aiv1.ReasonUnschedulable: {change: []func(*aiv1.InferenceServiceSpec){withGPUs(16)},
			words: []string{"Insufficient nvidia.com/gpu", "A replica asks for 16 nvidia.com/gpu", "no node that it may use has more than 8"}},
		aiv1.ReasonReadinessFailing: {change: withBehaviors("never-ready"), words: []string{"HTTP probe failed with statuscode: 503"}},
		aiv1.ReasonEvicted: {change: withBehaviors(unplayed), words: []string{"low on resource: memory."},
			happens: plays("evicted", "Evicted", "The node was low on resource: memory. Threshold quantity: 100Mi, available: 1Mi.")},
		aiv1.ReasonQuotaExceeded: {words: []string{"exceeded quota: none", "used: pods=0"}, prepare: func(namespace string) {
			create(&corev1.ResourceQuota{ObjectMeta: objectMeta(namespace, "none"),
				Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}})
		}},
		aiv1.ReasonPodSecurity: {words: []string{`violates PodSecurity "restricted`}, prepare: restricted,
			change: []func(*aiv1.InferenceServiceSpec){withValues("securityContext: {privileged: true, allowPrivilegeEscalation: true}")}},
		aiv1.ReasonAdmissionRefused: {words: []string{"ValidatingAdmissionPolicy", "pods may not"}, prepare: podPolicy},
		aiv1.ReasonPodsRefused: {words: []string{"maximum memory usage"}, change: []func(*aiv1.InferenceServiceSpec){limited},
			prepare: func(namespace string) {
				create(&corev1.LimitRange{ObjectMeta: objectMeta(namespace, "small"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
					Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}}}}})
			}},
		aiv1.ReasonProgressDeadlineExceeded: {words: []string{"no progress"}, change: []func(*aiv1.InferenceServiceSpec){
			withValues("{podAnnotations: {localkube.dev/behavior: container-creating}, rollout: {progressDeadlineSeconds: 2}}")}},
		aiv1.ReasonScalingInactive: {change: []func(*aiv1.InferenceServiceSpec){withAutoscaling(3)}, advisory: true,
			words: []string{"failed to get cpu"}, happens: hasNoMetricsForLong},
		aiv1.ReasonFillingJobFailed: {change: []func(*aiv1.InferenceServiceSpec){crashingOnClaim}, advisory: true, behind: aiv1.ReasonCrashLoop,
			words: []string{`exit code 1; the Job "fetch", which can write to the claim "weights", failed (BackoffLimitExceeded)`}, prepare: filledBy("evicted")},
		aiv1.ReasonFillingJobUnfinished: {change: []func(*aiv1.InferenceServiceSpec){crashingOnClaim}, advisory: true, behind: aiv1.ReasonCrashLoop,
			words: []string{`exit code 1; the Job "fetch", which can write to the claim "weights", has not finished`}, prepare: filledBy("container-creating")},
	}
}

// withBehaviors makes the simulated node fail the pods in the way that it names. Pairs of what localkube.dev/ annotations are
// called and say tell more of it.
func withBehaviors(name string, more ...string) []func(*aiv1.InferenceServiceSpec) {
	annotations := map[string]string{"localkube.dev/behavior": name}
	for i := 0; i < len(more); i += 2 {
		annotations["localkube.dev/"+more[i]] = more[i+1]
	}
	values, err := yaml.Marshal(map[string]any{"podAnnotations": annotations})
	Expect(err).NotTo(HaveOccurred())
	return []func(*aiv1.InferenceServiceSpec){withValues(string(values))}
}

var _ = ginkgo.Describe("Every reason", func() {
	ginkgo.It("is reproduced, told with what it is about, and stays as it is", func() {
		needSimulatedPods()
		// The operator of the specs watches all namespaces. Each reproduction has one of its own, for what it prepares.
		cases := reproductions()
		services := map[string]*aiv1.InferenceService{}
		for _, entry := range diagnose.Entries() {
			if entry.Example == "" {
				continue // a step gives it, and has a spec of its own
			}
			of, ok := cases[entry.Reason]
			Expect(ok).To(BeTrue(), "nothing reproduces %s", entry.Reason)
			Expect(of.advisory).To(Equal(entry.Advisory), entry.Reason)
			namespace := newNamespace()
			if of.prepare != nil {
				of.prepare(namespace)
			}
			services[entry.Reason] = newService(namespace, "s", "m", of.change...)
			create(newModel(namespace, "m"), services[entry.Reason])
		}
		for reason, service := range services {
			if cases[reason].happens != nil {
				cases[reason].happens(service)
			}
		}
		Eventually(func() map[string]string {
			wrong := map[string]string{}
			for reason, service := range services {
				Expect(refresh(service)).To(Succeed())
				if story := untold(service, reason, cases[reason]); story != "" {
					wrong[reason] = story
				}
			}
			return wrong
		}).WithTimeout(healing).WithPolling(time.Second).Should(BeEmpty())
		for reason, service := range services {
			if !cases[reason].advisory || cases[reason].behind != "" {
				expectFailure(service, cases[reason].object)
			}
		}
		// Nothing that moves is in a message: looked at again, everything stays.
		versions := map[string]string{}
		for reason, service := range services {
			expectStatusOf(service)
			versions[reason] = service.ResourceVersion
		}
		Consistently(func(g Gomega) {
			for reason, service := range services {
				g.Expect(refresh(service)).To(Succeed())
				g.Expect(service.ResourceVersion).To(Equal(versions[reason]), "the status of %s moves: %+v", reason, service.Status.Failure)
			}
		}).WithPolling(time.Second).Should(Succeed())
	})

	ginkgo.It("goes when it is cured, and keeps its time until then", func() {
		needSimulatedPods()
		namespace := newNamespace()
		service := newService(namespace, "s", "m", withBehavior("config-error"))
		create(newModel(namespace, "m"), service)
		expectReason(service, aiv1.ReasonContainerConfig)
		since := service.Status.Failure.Since
		edit(service, func() { service.Spec.Runtime.Args = []string{"--new"} })
		expectReason(service, aiv1.ReasonContainerConfig)
		Expect(service.Status.Failure.Since.Before(&since)).To(BeFalse())
		edit(service, func() { service.Spec.ChartValues = nil })
		expectReady(service)
		Expect(service.Status.Failure).To(BeNil())
	})

	ginkgo.It("leaves the old pod alone when the new one fits nowhere", func() {
		needSimulatedPods()
		namespace := newNamespace()
		service := newService(namespace, "s", "m", withGPUs(1))
		create(newModel(namespace, "m"), service)
		expectReady(service)
		edit(service, func() { withGPUs(16)(&service.Spec) })
		expectReason(service, aiv1.ReasonRolloutBlocked, "no node that it may use has more than 8")
		Consistently(func(g Gomega) {
			g.Expect(refresh(service)).To(Succeed())
			g.Expect(service.Status.AvailableReplicas).To(BeEquivalentTo(1))
		}).WithTimeout(atOnce).Should(Succeed())
		edit(service, func() { withGPUs(2)(&service.Spec) })
		expectReady(service)
	})

	ginkgo.It("is that of the new revision, not of the old", func() {
		needSimulatedPods()
		namespace := newNamespace()
		service := newService(namespace, "s", "m", withBehavior("crash-loop"))
		create(newModel(namespace, "m"), service)
		expectReason(service, aiv1.ReasonCrashLoop)
		edit(service, func() {
			withValues("podAnnotations: {localkube.dev/behavior: slow-start, localkube.dev/delay: 5s}")(&service.Spec)
		})
		// While the new pod starts, the old one goes on crashing.
		expectReason(service, aiv1.ReasonRollingOut)
		Consistently(func(g Gomega) {
			g.Expect(refresh(service)).To(Succeed())
			g.Expect(condition(service, aiv1.ConditionReady).Reason).NotTo(Equal(aiv1.ReasonCrashLoop))
			g.Expect(service.Status.Failure).To(BeNil())
		}).WithTimeout(atOnce).Should(Succeed())
		expectReady(service)
	})
})

// expectFailure holds that status.failure says what Ready says, and what it is about.
func expectFailure(service *aiv1.InferenceService, object string) {
	ginkgo.GinkgoHelper()
	ready, failure := condition(service, aiv1.ConditionReady), service.Status.Failure
	Expect(failure).NotTo(BeNil(), ready.Reason)
	Expect(failure.Reason).To(Equal(ready.Reason))
	Expect(failure.Message).To(Equal(ready.Message))
	Expect(failure.Since.Time).To(BeTemporally("~", time.Now(), 10*time.Minute))
	if object == "" {
		object = "Deployment/s-server"
	}
	Expect(failure.Object).NotTo(BeNil(), ready.Reason)
	Expect(failure.Object.Kind+"/"+failure.Object.Name).To(Equal(object), ready.Reason)
	Expect(failure.Message).NotTo(MatchRegexp("s-server-[0-9a-f]"))
	expectConsistent(service)
}

// untold is what a service says instead of a reason with its words. Empty: it says that.
func untold(service *aiv1.InferenceService, reason string, of reproduction) string {
	told := condition(service, aiv1.ConditionReady)
	switch {
	case of.behind != "":
		if service.Status.Failure == nil || !slices.Contains(service.Status.Failure.Others, reason) {
			return "it is not among what else is wrong: " + told.Message
		}
		reason = of.behind
	case of.advisory:
		if told.Status != metav1.ConditionTrue || service.Status.Failure != nil {
			return "it is not ready: " + told.Message
		}
		told = condition(service, aiv1.ConditionScalingActive)
	}
	story := string(told.Status) + " " + told.Reason + ": " + told.Message
	if told.Status != metav1.ConditionFalse || told.Reason != reason {
		return story
	}
	for _, word := range of.words {
		if !strings.Contains(told.Message, word) {
			return story
		}
	}
	return ""
}

// expectStatusOf waits until status counts what there is, after which nothing has to change.
func expectStatusOf(service *aiv1.InferenceService) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		deployment := deploymentOf(service.Namespace, service.Name+"-server")
		g.Expect(refresh(deployment)).To(Succeed())
		g.Expect(refresh(service)).To(Succeed())
		g.Expect(service.Status.Replicas).To(Equal(deployment.Status.Replicas))
		g.Expect(service.Status.AvailableReplicas).To(Equal(deployment.Status.AvailableReplicas))
	}).Should(Succeed())
}

// hasNoMetricsForLong makes an autoscaler without metrics one that has been so for ten minutes, and the operator look.
func hasNoMetricsForLong(service *aiv1.InferenceService) {
	ginkgo.GinkgoHelper()
	expectReady(service)
	autoscaler := live(autoscalerOf(service.Namespace, "s-server"))
	long := metav1.NewTime(time.Now().Add(-10 * time.Minute))
	Eventually(func(g Gomega) {
		g.Expect(refresh(autoscaler)).To(Succeed())
		for i := range autoscaler.Status.Conditions {
			c := &autoscaler.Status.Conditions[i]
			if c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionFalse {
				if c.LastTransitionTime.After(long.Time) {
					c.LastTransitionTime = long
					g.Expect(k8s.Status().Update(suiteCtx, autoscaler)).To(Succeed())
				}
				return
			}
		}
		g.Expect(autoscaler.Status.Conditions).To(BeNil(), "ScalingActive is not False yet")
		g.Expect(false).To(BeTrue(), "there are no conditions yet")
	}).Should(Succeed())
	edit(service, func() { service.Annotations = map[string]string{aiv1.AnnotationPaused: "true"} })
	edit(service, func() { service.Annotations = nil })
}

// deadNodeName is the name of a node that has no kubelet, and is never ready.
const deadNodeName = "dead"

func deadNode(string) {
	ginkgo.GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: deadNodeName, Labels: map[string]string{"dead": "yes"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "dead", Effect: corev1.TaintEffectNoSchedule}}}}
	create(node)
	bare := node.DeepCopy()
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("8")}
	node.Status.Capacity = node.Status.Allocatable
	Expect(k8s.Status().Patch(suiteCtx, node, client.MergeFrom(bare))).To(Succeed())
	ginkgo.DeferCleanup(func() {
		pods := &corev1.PodList{}
		Expect(k8s.List(suiteCtx, pods, client.MatchingFields{"spec.nodeName": deadNodeName})).To(Succeed())
		for i := range pods.Items {
			Expect(client.IgnoreNotFound(k8s.Delete(suiteCtx, &pods.Items[i], client.GracePeriodSeconds(0)))).To(Succeed())
		}
		Expect(k8s.Delete(suiteCtx, node)).To(Succeed())
	})
}

// onDeadNode lets pods onto that node only.
func onDeadNode(spec *aiv1.InferenceServiceSpec) {
	spec.Placement = &aiv1.Placement{NodeSelector: map[string]string{"dead": "yes"},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}}
}

func restricted(name string) {
	ginkgo.GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	edit(namespace, func() {
		namespace.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	})
}

// podPolicy refuses all pods of a namespace.
func podPolicy(namespace string) {
	ginkgo.GinkgoHelper()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Create},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}}}}},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "pods may not"}},
		}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: namespace, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}}}}
	create(policy, binding)
	ginkgo.DeferCleanup(func() {
		Expect(k8s.Delete(suiteCtx, binding)).To(Succeed())
		Expect(k8s.Delete(suiteCtx, policy)).To(Succeed())
	})
	// A policy counts from a moment on that nobody tells of.
	Eventually(func() error {
		pod := &corev1.Pod{ObjectMeta: objectMeta(namespace, "probe"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}}
		return k8s.Create(suiteCtx, pod, client.DryRunAll)
	}).Should(MatchError(ContainSubstring("pods may not")))
}
