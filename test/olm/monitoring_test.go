package olm

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/aimodel-operator/aimodel-operator/config"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
)

// installMonitoring has the cluster serve the kinds of the Prometheus operator of which the bundle may bring no object.
func installMonitoring() {
	ginkgo.GinkgoHelper()
	for _, crd := range decode("../integration/testdata/monitoring-crds.yaml") {
		create(crd)
	}
	for _, list := range []client.ObjectList{&monitoringv1.ServiceMonitorList{}, &monitoringv1.PrometheusRuleList{}} {
		Eventually(func() error { return k8s.List(suiteCtx, list) }).Should(Succeed())
	}
}

// removeMonitoring takes those kinds away again, and with them the objects that operators made.
func removeMonitoring() {
	ginkgo.GinkgoHelper()
	for _, crd := range decode("../integration/testdata/monitoring-crds.yaml") {
		remove(crd)
	}
}

// monitoring are the objects that an operator makes in its namespace.
func (i *installation) monitoring() (*monitoringv1.ServiceMonitor, *monitoringv1.PrometheusRule) {
	return &monitoringv1.ServiceMonitor{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "aimodel-operator-controller-manager"}},
		&monitoringv1.PrometheusRule{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "aimodel-operator"}}
}

// expectMonitored waits until both say what the files of the alerts say, and holds that they are there for what is installed, with
// the dashboard beside them.
func (i *installation) expectMonitored() {
	ginkgo.GinkgoHelper()
	monitor, rules := i.monitoring()
	wantedMonitor, wantedRules := &monitoringv1.ServiceMonitor{}, &monitoringv1.PrometheusRule{}
	Expect(yaml.Unmarshal(config.ServiceMonitor, wantedMonitor)).To(Succeed())
	Expect(yaml.Unmarshal(config.PrometheusRule, wantedRules)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(refresh(monitor)).To(Succeed())
		g.Expect(refresh(rules)).To(Succeed())
		g.Expect(monitor.Spec).To(Equal(wantedMonitor.Spec))
		g.Expect(rules.Spec).To(Equal(wantedRules.Spec))
	}).Should(Succeed())
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: deploymentName}}
	Expect(refresh(deployment)).To(Succeed())
	Expect(metav1.IsControlledBy(monitor, deployment)).To(BeTrue())
	Expect(metav1.IsControlledBy(rules, deployment)).To(BeTrue())

	dashboard := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: "aimodel-operator-dashboard"}}
	Expect(refresh(dashboard)).To(Succeed())
	Expect(dashboard.Labels).To(HaveKeyWithValue("grafana_dashboard", "1"))
	Expect(dashboard.Data).To(HaveLen(1))

	services := &corev1.ServiceList{}
	Expect(k8s.List(suiteCtx, services, client.InNamespace(i.namespace), client.MatchingLabels(monitor.Spec.Selector.MatchLabels))).To(Succeed())
	Expect(services.Items).To(HaveLen(1), "the ServiceMonitor selects the Service of the metrics")
	Expect(services.Items[0].Spec.Ports).To(ContainElement(HaveField("Name", monitor.Spec.Endpoints[0].Port)))
}

// spoilMonitoring changes what the operator made.
func (i *installation) spoilMonitoring() {
	ginkgo.GinkgoHelper()
	monitor, rules := i.monitoring()
	edit(monitor, func() { monitor.Spec.Endpoints[0].Path = "/elsewhere" })
	edit(rules, func() { rules.Spec.Groups[0].Rules = rules.Spec.Groups[0].Rules[1:] })
}
