package olm

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// specifyChannels upgrades to the next version in the channels beside the default one, which the other specs use.
func specifyChannels() {
	ginkgo.It("is upgraded from the version before in each channel that it is for", func() {
		for _, channel := range current.channels[1:] {
			home := newNamespace(channel)
			i := &installation{namespace: home, targets: []string{home}, channel: channel}
			publish(previous)
			i.subscribe(previous)
			i.approve(previous)
			i.expectSucceeded(previous)
			publish(current)
			i.approve(current)
			i.expectSucceeded(current)
			i.expectReplaced(previous, current)
			i.uninstall(current)
			remove(lifecycleObject("OperatorGroup", home, packageName))
			remove(namespaceOf(home))
		}
	})
}

// specifyInstallModes installs for each mode anew, one after the other: two installations that provide the same API for the same
// namespace exclude each other.
func specifyInstallModes() {
	ginkgo.DescribeTable("serves the namespaces of its install mode and has no permission elsewhere", func(targets func(home string) []string) {
		home, other := newNamespace("home"), newNamespace("other")
		i := &installation{namespace: home, targets: targets(home), proxy: "http://proxy.invalid:3128"}
		i.subscribe(current)
		ginkgo.DeferCleanup(func() {
			i.uninstall(current)
			remove(lifecycleObject("OperatorGroup", home, packageName))
			remove(namespaceOf(home))
		})
		i.approve(current)
		i.expectSucceeded(current)
		o := i.start(current)
		ginkgo.DeferCleanup(func() { Expect(o.process.Stop(ending)).To(Succeed()) })
		start := auditSize()

		theirs := newModel(other, "theirs")
		create(theirs)
		for _, namespace := range i.targets {
			ours := newModel(namespace, "ours")
			ours.Spec.Source = &aiv1.ModelSource{URI: "s3://weights/ours"}
			create(ours)
			expectReady(ours)
			edit(ours, func() { ours.Spec.ModelVersion = "2" })
			expectReady(ours)
			Expect(mayCreateDeployments(o, namespace)).To(BeTrue())
			server := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ours"}}
			Expect(refresh(server)).To(Succeed())
			Expect(server.Spec.Template.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "https_proxy", Value: i.proxy}),
				"the proxy of the Subscription reaches what fetches weights")
		}
		i.expectMonitored()
		Expect(refresh(theirs)).To(Succeed())
		Expect(theirs.Status.Conditions).To(BeEmpty())
		deployments := &appsv1.DeploymentList{}
		Expect(k8s.List(suiteCtx, deployments, client.InNamespace(other))).To(Succeed())
		Expect(deployments.Items).To(BeEmpty())
		Expect(mayCreateDeployments(o, other)).To(BeFalse())
		_, refused := auditSince(start, o.user)
		Expect(refused).To(BeEmpty())

		for _, namespace := range i.targets {
			remove(&aiv1.AIModel{ObjectMeta: newModel(namespace, "ours").ObjectMeta})
		}
	},
		ginkgo.Entry("OwnNamespace", func(home string) []string { return []string{home} }),
		ginkgo.Entry("SingleNamespace", func(string) []string { return []string{newNamespace("team")} }),
		ginkgo.Entry("MultiNamespace", func(string) []string { return []string{newNamespace("team-a"), newNamespace("team-b")} }),
	)
}

// mayCreateDeployments asks the API server.
func mayCreateDeployments(o *operator, namespace string) bool {
	ginkgo.GinkgoHelper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: o.user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "create", Group: "apps", Resource: "deployments"},
	}}
	create(review)
	return review.Status.Allowed
}
