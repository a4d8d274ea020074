package olm

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// installation is the operator in one namespace, as an administrator asks for it.
type installation struct {
	namespace string
	// targets are the namespaces to work in. None means all.
	targets []string
	// channel is that of the Subscription. Empty means the default one.
	channel string
	// proxy is the address of one that the Subscription gives the operator, or empty.
	proxy string
}

// subscribe asks for the package from a version on. Nothing is installed before approve.
func (i *installation) subscribe(start bundle) {
	ginkgo.GinkgoHelper()
	group := lifecycleObject("OperatorGroup", i.namespace, packageName)
	spec := map[string]any{}
	if len(i.targets) > 0 {
		targets := make([]any, 0, len(i.targets))
		for _, namespace := range i.targets {
			targets = append(targets, namespace)
		}
		spec["targetNamespaces"] = targets
	}
	group.Object["spec"] = spec
	channel := i.channel
	if channel == "" {
		channel = start.channels[0]
	}
	subscription := i.subscription()
	subscription.Object["spec"] = map[string]any{
		"source": catalog, "sourceNamespace": olmNamespace, "name": packageName, "channel": channel,
		"startingCSV": start.name, "installPlanApproval": "Manual",
	}
	if i.proxy != "" {
		config := map[string]any{"env": []any{map[string]any{"name": "HTTPS_PROXY", "value": i.proxy}}}
		Expect(unstructured.SetNestedMap(subscription.Object, config, "spec", "config")).To(Succeed())
	}
	create(group, subscription)
}

func (i *installation) subscription() *unstructured.Unstructured {
	return lifecycleObject("Subscription", i.namespace, packageName)
}

func (i *installation) csv(b bundle) *unstructured.Unstructured {
	return lifecycleObject("ClusterServiceVersion", i.namespace, b.name)
}

func (i *installation) condition(b bundle) *unstructured.Unstructured {
	return lifecycleObject("OperatorCondition", i.namespace, b.name)
}

// approve waits until the Lifecycle Manager offers a version, and accepts it.
func (i *installation) approve(b bundle) {
	ginkgo.GinkgoHelper()
	plan := i.offered(b)
	edit(plan, func() { Expect(unstructured.SetNestedField(plan.Object, true, "spec", "approved")).To(Succeed()) })
}

// offered waits until the Lifecycle Manager has a plan for a version that can be approved.
func (i *installation) offered(b bundle) (found *unstructured.Unstructured) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		plans := lifecycleList("InstallPlan")
		g.Expect(k8s.List(suiteCtx, plans, client.InNamespace(i.namespace))).To(Succeed())
		for j := range plans.Items {
			plan := &plans.Items[j]
			names, _, _ := unstructured.NestedStringSlice(plan.Object, "spec", "clusterServiceVersionNames")
			if len(names) != 1 || names[0] != b.name {
				continue
			}
			// Approved any sooner, it would never get a status, and another would be made.
			g.Expect(text(plan, "status", "phase")).To(Equal("RequiresApproval"))
			found = plan
			return
		}
		subscription := i.subscription()
		g.Expect(refresh(subscription)).To(Succeed())
		g.Expect(plans.Items).To(BeEmpty(), "no plan is for %s", b.name)
		conditions, _, _ := unstructured.NestedSlice(subscription.Object, "status", "conditions")
		g.Expect(plans.Items).NotTo(BeEmpty(), "there is no plan for %s yet; the Subscription says %v", b.name, conditions)
	}).WithTimeout(managed).Should(Succeed())
	return found
}

// expectSucceeded waits until a version is installed.
func (i *installation) expectSucceeded(b bundle) {
	ginkgo.GinkgoHelper()
	i.expectPhase(b, "Succeeded", "InstallSucceeded")
	Eventually(func(g Gomega) {
		plans := lifecycleList("InstallPlan")
		g.Expect(k8s.List(suiteCtx, plans, client.InNamespace(i.namespace))).To(Succeed())
		for j := range plans.Items {
			names, _, _ := unstructured.NestedStringSlice(plans.Items[j].Object, "spec", "clusterServiceVersionNames")
			if len(names) == 1 && names[0] == b.name {
				g.Expect(text(&plans.Items[j], "status", "phase")).To(Equal("Complete"))
			}
		}
	}).WithTimeout(managed).Should(Succeed())
}

func (i *installation) expectPhase(b bundle, phase, reason string) {
	ginkgo.GinkgoHelper()
	csv := i.csv(b)
	Eventually(func(g Gomega) {
		g.Expect(refresh(csv)).To(Succeed())
		story := text(csv, "status", "reason") + ": " + text(csv, "status", "message")
		g.Expect(text(csv, "status", "phase")).To(Equal(phase), story)
		g.Expect(text(csv, "status", "reason")).To(Equal(reason), story)
	}).WithTimeout(managed).Should(Succeed())
}

// expectReplaced waits until a version that another one took the place of is gone.
func (i *installation) expectReplaced(old, by bundle) {
	ginkgo.GinkgoHelper()
	successor := i.csv(by)
	Expect(refresh(successor)).To(Succeed())
	Expect(text(successor, "spec", "replaces")).To(Equal(old.name))
	Eventually(func() error { return refresh(i.csv(old)) }).WithTimeout(managed).Should(MatchError(ContainSubstring("not found")))
	versions := lifecycleList("ClusterServiceVersion")
	Expect(k8s.List(suiteCtx, versions, client.InNamespace(i.namespace))).To(Succeed())
	Expect(versions.Items).To(HaveLen(1))
}

// uninstall does what the documentation says: it deletes the Subscription and the ClusterServiceVersion.
func (i *installation) uninstall(b bundle) {
	ginkgo.GinkgoHelper()
	remove(i.subscription())
	csv := i.csv(b)
	// The Lifecycle Manager may carry out once more a plan that it has just completed, and so make the version anew.
	Eventually(func(g Gomega) {
		g.Expect(client.IgnoreNotFound(k8s.Delete(suiteCtx, csv))).To(Succeed())
		g.Expect(apierrors.IsNotFound(refresh(csv))).To(BeTrue())
	}).WithTimeout(managed).Should(Succeed(), "%s is still there", b.name)
}
