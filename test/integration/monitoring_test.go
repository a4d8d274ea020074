package integration

import (
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoring"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
	"github.com/aimodel-operator/aimodel-operator/internal/setup"
	"github.com/aimodel-operator/aimodel-operator/test/permissions"
)

const monitoringCRDs = "testdata/monitoring-crds.yaml"

var _ = describeOwnOperators("The operator's own monitoring", func() {
	var home, namespace string
	var config *rest.Config
	var own *appsv1.Deployment
	var monitor *monitoringv1.ServiceMonitor
	var rules *monitoringv1.PrometheusRule
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		for _, crd := range decodeAll(monitoringCRDs) {
			if refresh(crd) == nil {
				ginkgo.Skip("SKIPPED: this cluster serves " + crd.GetName() + " already, and the spec needs one that does not at first")
			}
		}
		home, namespace = newNamespace(), newNamespace()
		config = accountConfig(home)
		bind(home, "", clusterRole("role.yaml", home+"-manager"))
		// It stands for the operator, which runs in the tests.
		own = foreignDeployment(home, monitoring.Deployment)
		create(own)
		monitor = &monitoringv1.ServiceMonitor{ObjectMeta: objectMeta(home, "aimodel-operator-controller-manager")}
		rules = &monitoringv1.PrometheusRule{ObjectMeta: objectMeta(home, "aimodel-operator")}
	})

	// allowed grants what the installation by the Lifecycle Manager grants beside the rest.
	allowed := func() {
		ginkgo.GinkgoHelper()
		role := monitoringRole()
		role.ObjectMeta = objectMeta(home, "monitoring")
		create(role, &rbacv1.RoleBinding{ObjectMeta: role.ObjectMeta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: "operator"}}})
	}
	monitored := func(change ...func(*setup.Options)) *operator {
		ginkgo.GinkgoHelper()
		return runOperator(operatorSettings{namespaces: []string{namespace}, config: config, options: func(options *setup.Options) {
			options.Monitoring, options.Namespace = setup.MonitoringAuto, home
			for _, f := range change {
				f(options)
			}
		}})
	}
	servesModels := func(name string) {
		ginkgo.GinkgoHelper()
		model := newModel(namespace, name, withImage)
		create(model)
		expectReady(model)
	}

	ginkgo.It("is set up once the cluster can have it, is kept, and goes with the operator", func() {
		allowed()
		first := monitored()
		servesModels("before")
		Expect(monitoringRequests(first)).To(BeEmpty(), "there is nothing to be read or written yet")

		ginkgo.By("noticing one API, and then the other")
		crds := decodeAll(monitoringCRDs)
		installMonitoring(crds[1])
		Eventually(refresh).WithArguments(rules).WithTimeout(installed).Should(Succeed())
		installMonitoring(crds[0])
		Eventually(refresh).WithArguments(monitor).WithTimeout(installed).Should(Succeed())
		expectMonitoringOf(own, monitor, rules)
		expectEvents(own, corev1.EventTypeNormal, monitoring.ReasonSetUp)
		expectEvents(own, corev1.EventTypeWarning)
		spec := rules.DeepCopy().Spec
		first.stop()

		ginkgo.By("writing nothing when there is nothing to be changed, though others have added to it")
		edit(monitor, func() { monitor.Labels["release"] = "prometheus" })
		edit(rules, func() { rules.Spec.Groups = append(rules.Spec.Groups, monitoringv1.RuleGroup{Name: "theirs"}) })
		second := monitored()
		Eventually(monitoringRequests).WithArguments(second).Should(HaveLen(2))
		servesModels("after")
		Expect(second.requests.matching(func(r request) bool {
			return r.method != "GET" && strings.Contains(r.path, "monitoring.coreos.com")
		})).To(BeEmpty())
		second.stop()

		ginkgo.By("mending what somebody changed or deleted")
		remove(monitor)
		recreating := monitored()
		Eventually(refresh).WithArguments(monitor).Should(Succeed())
		recreating.stop()
		edit(rules, func() { rules.Spec.Groups[0].Rules[0].Expr = "vector(0)" })
		edit(monitor, func() { monitor.Spec.Endpoints[0].Path = "/elsewhere" })
		third := monitored()
		Eventually(func(g Gomega) {
			g.Expect(refresh(monitor)).To(Succeed())
			g.Expect(monitor.Spec.Endpoints[0].Path).To(Equal("/metrics"))
			g.Expect(refresh(rules)).To(Succeed())
			i := slices.IndexFunc(rules.Spec.Groups, func(group monitoringv1.RuleGroup) bool { return group.Name == spec.Groups[0].Name })
			g.Expect(i).To(BeNumerically(">=", 0))
			g.Expect(rules.Spec.Groups[i]).To(Equal(spec.Groups[0]))
		}).Should(Succeed())
		Expect(rules.Spec.Groups).To(HaveLen(2), "what others added stays")
		expectMonitoringOf(own, monitor, nil)

		ginkgo.By("with no permission that it does not use")
		Expect(first.requests.forbidden()).To(BeEmpty())
		Expect(third.requests.forbidden()).To(BeEmpty())
		used := permissions.Used{}
		for _, o := range []*operator{first, third} {
			for _, sent := range append(monitoringRequests(o), o.requests.matching(func(r request) bool {
				return strings.HasSuffix(r.path, "/namespaces/"+home+"/deployments/"+monitoring.Deployment)
			})...) {
				used.Add(sent.method, sent.path, sent.watch)
			}
		}
		Expect(used.Sorted()).To(Equal(permissions.Granted(monitoringRole().Rules)))

		third.stop()

		ginkgo.By("as it is asked for now, without what it was before")
		fourth := monitored(func(options *setup.Options) {
			options.MonitoringTokenSecret, options.MonitoringLabels = "scraper", "team=models"
		})
		Eventually(func(g Gomega) {
			g.Expect(refresh(monitor)).To(Succeed())
			g.Expect(refresh(rules)).To(Succeed())
			g.Expect(monitor.Spec.Endpoints).To(HaveLen(1))
			g.Expect(monitor.Spec.Endpoints[0].BearerTokenFile).To(BeEmpty())
			g.Expect(monitor.Spec.Endpoints[0].Authorization.Credentials.Name).To(Equal("scraper"))
			g.Expect(monitor.Labels).To(HaveKeyWithValue("team", "models"))
			g.Expect(rules.Labels).To(HaveKeyWithValue("team", "models"))
		}).Should(Succeed())
		fourth.stop()

		ginkgo.By("and is gone with the operator's Deployment")
		remove(own)
		for _, object := range []client.Object{monitor, rules} {
			Eventually(func() bool { return apierrors.IsNotFound(refresh(object)) }).WithTimeout(healing).Should(BeTrue())
		}
	})

	ginkgo.It("leaves objects of somebody else's alone, and sets up the rest", func() {
		installMonitoring(decodeAll(monitoringCRDs)...)
		monitor.Spec.Endpoints = []monitoringv1.Endpoint{{Port: "theirs"}}
		create(monitor)
		expectUntouched(monitor, func() {
			allowed()
			monitored()
			Eventually(refresh).WithArguments(rules).Should(Succeed())
			expectEvents(own, corev1.EventTypeWarning, monitoring.ReasonConflict)
			servesModels("m")
		})
		Expect(metav1.IsControlledBy(rules, own)).To(BeTrue())
	})

	ginkgo.It("keeps nothing from working when it is not allowed", func() {
		installMonitoring(decodeAll(monitoringCRDs)...)
		monitored()
		expectEvents(own, corev1.EventTypeWarning, monitoring.ReasonFailed)
		servesModels("m")
	})

	ginkgo.It("is left to others unless it is asked for, and stays when it no longer is", func() {
		installMonitoring(decodeAll(monitoringCRDs)...)
		allowed()
		asked := monitored()
		Eventually(refresh).WithArguments(monitor).Should(Succeed())
		Eventually(refresh).WithArguments(rules).Should(Succeed())
		asked.stop()
		remove(rules)
		o := runOperator(operatorSettings{namespaces: []string{namespace}})
		servesModels("m")
		Expect(monitoringRequests(o)).To(BeEmpty())
		Expect(refresh(monitor)).To(Succeed())
	})

	ginkgo.It("holds nothing up when its API goes", func() {
		crds := decodeAll(monitoringCRDs)
		installMonitoring(crds...)
		allowed()
		o := monitored()
		Eventually(refresh).WithArguments(monitor).Should(Succeed())
		Eventually(refresh).WithArguments(rules).Should(Succeed())
		o.stop()
		for _, crd := range crds {
			remove(crd)
		}
		monitored()
		servesModels("m")
		installMonitoring(decodeAll(monitoringCRDs)...)
		Eventually(refresh).WithArguments(monitor).WithTimeout(installed).Should(Succeed())
	})
})

// monitoringRequests are those about the objects of monitoring.
func monitoringRequests(o *operator) []request {
	return o.requests.matching(func(r request) bool {
		return strings.Contains(r.path, "/servicemonitors") || strings.Contains(r.path, "/prometheusrules")
	})
}

// expectMonitoringOf holds that objects are the installation's, and say what the files of the alerts say. Each may be nil.
func expectMonitoringOf(own *appsv1.Deployment, monitor *monitoringv1.ServiceMonitor, rules *monitoringv1.PrometheusRule) {
	ginkgo.GinkgoHelper()
	if monitor != nil {
		Expect(metav1.IsControlledBy(monitor, own)).To(BeTrue())
		Expect(monitor.Labels).To(HaveKeyWithValue(aiv1.LabelManagedBy, aiv1.ManagedBy))
		wanted := &monitoringv1.ServiceMonitor{}
		Expect(yaml.UnmarshalStrict(readFile("../../config/prometheus/service_monitor.yaml"), wanted)).To(Succeed())
		Expect(monitor.Spec).To(Equal(wanted.Spec))
	}
	if rules != nil {
		Expect(metav1.IsControlledBy(rules, own)).To(BeTrue())
		wanted := monitoringv1.PrometheusRuleSpec{}
		Expect(yaml.UnmarshalStrict(readFile("../../config/prometheus/aimodel-operator.rules.yaml"), &wanted)).To(Succeed())
		Expect(rules.Spec).To(Equal(wanted))
	}
}

func monitoringRole() *rbacv1.Role {
	ginkgo.GinkgoHelper()
	role := &rbacv1.Role{}
	Expect(yaml.UnmarshalStrict(readFile("../../config/olm/monitoring_role.yaml"), role)).To(Succeed())
	return role
}

// installMonitoring has the cluster serve kinds until the spec ends.
func installMonitoring(crds ...*unstructured.Unstructured) {
	ginkgo.GinkgoHelper()
	for _, crd := range crds {
		create(crd)
		ginkgo.DeferCleanup(func() {
			if refresh(crd) == nil {
				remove(crd)
			}
		})
		kind, _, err := unstructured.NestedString(crd.Object, "spec", "names", "listKind")
		Expect(err).NotTo(HaveOccurred())
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(monitoringv1.GroupVersion.WithKind(kind))
		Eventually(func() error { return k8s.List(suiteCtx, list) }).Should(Succeed())
	}
}
