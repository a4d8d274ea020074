package olm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

const v1Home = "aimodel-operator-system"

// What is run here is what docs/install.md prints.
var _ = ginkgo.Describe("The bundle, installed by OLM v1", ginkgo.Ordered, ginkgo.Label("v1"), func() {
	home := &installation{namespace: v1Home}
	var (
		images         *registry
		before         map[string]bool
		user           string
		model          *aiv1.AIModel
		service        *aiv1.InferenceService
		old, successor *operator
	)

	ginkgo.BeforeAll(func() {
		images = startRegistry()
		images.release(previous)
		startLifecycleManagerV1(images)
		user = newNamespace("user")
		before = inventory(user)
	})

	ginkgo.AfterAll(func() { // what is still running after a failure
		end(old, successor)
	})

	ginkgo.It("installs as the documentation says, and models are served", func() {
		images.run(previous, printed("OLM v1 (ClusterExtension)", 0))
		expectServing(v1Object("ClusterCatalog"))
		expectInstalled(previous)
		Expect(deploymentOfOperator().Spec.Template.Spec.Containers[0].Image).To(Equal(images.manager))
		old = startOperator(podOfOperator())
		model, service = newModel(user, "sentiment"), newService(user, "on-gpus", "sentiment")
		create(model, service)
		expectReady(model, service)
		home.expectMonitored()
	})

	ginkgo.It("keeps a version that it is told, and upgrades by itself when it is told none, which restarts no pod of a user", func() {
		served := running(user)
		Expect(served).To(HaveLen(2 + 3))
		hold := func(version string) {
			kubectl("patch", "clusterextension", packageName, "--type=merge", "-p", `{"spec": {"source": {"catalog": {"version": `+version+`}}}}`)
		}
		expectProgress := func(words string) {
			ginkgo.GinkgoHelper()
			extension := v1Object("ClusterExtension")
			Eventually(func(g Gomega) {
				g.Expect(refresh(extension)).To(Succeed())
				_, story := condition(extension, "Progressing")
				g.Expect(story).To(ContainSubstring(words))
			}).WithTimeout(managed).Should(Succeed())
		}
		hold(`"` + previous.version + `"`)
		images.release(current)
		images.run(current, printed("OLM v1 (ClusterExtension)", 0))
		expectProgress("no bundles found for package")
		expectInstalled(previous)
		images.run(previous, printed("OLM v1 (ClusterExtension)", 0))
		expectProgress("desired state reached")
		hold("null")

		ginkgo.By("going on when the catalog has the next version")
		images.run(current, printed("OLM v1 (ClusterExtension)", 0))
		expectInstalled(current)
		old.stop()
		successor = startOperator(podOfOperator())
		expectReady(model, service)
		Consistently(running).WithArguments(user).Should(Equal(served))

		ginkgo.By("and goes on serving what is asked of it after that, with the permissions that it has")
		edit(model, func() { *model.Spec.Replicas = 3 })
		expectReady(model)
		Expect(running(user)).To(HaveLen(2 + 4))
		home.expectMonitored()
		_, refused := auditSince(0, successor.user)
		Expect(refused).To(BeEmpty())
	})

	ginkgo.It("is uninstalled as the documentation says and takes the models along, but for one that waits for an operator", func() {
		images.run(current, printed("Uninstalling", 0))
		Eventually(running).WithArguments(user).Should(BeEmpty())

		ginkgo.By("with models that are there all the same")
		model = newModel(user, "forgotten")
		create(model)
		expectReady(model)
		successor.stop()
		waiting := newModel(user, "waiting")
		waiting.Finalizers = []string{aiv1.FinalizerRegistryCleanup}
		create(waiting)
		images.run(current, printed("Uninstalling", 2))
		Eventually(func() bool { return apierrors.IsNotFound(refresh(model)) }).WithTimeout(managed).Should(BeTrue())
		Eventually(running).WithArguments(user).WithTimeout(managed).Should(BeEmpty())
		Consistently(func() error { return refresh(waiting) }).Should(Succeed())
		Expect(waiting.DeletionTimestamp).NotTo(BeNil())

		ginkgo.By("and nothing is left when that is let go")
		images.run(current, strings.NewReplacer("NAMESPACE", user, "NAME", waiting.Name).Replace(printed("Uninstalling", 3)))
		Eventually(addedTo).WithArguments(before, user).WithTimeout(managed).Should(BeEmpty())
	})
})

// v1Object is the one of a kind of OLM v1's that docs/install.md makes.
func v1Object(kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "olm.operatorframework.io", Version: "v1", Kind: kind})
	object.SetName(packageName)
	return object
}

// condition is what an object says of itself, and the same with the reason and the message.
func condition(object *unstructured.Unstructured, name string) (status, story string) {
	list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range list {
		if said, ok := entry.(map[string]any); ok && said["type"] == name {
			return fmt.Sprint(said["status"]), fmt.Sprintf("%s is %s, %s: %s", name, said["status"], said["reason"], said["message"])
		}
	}
	return "", "there is no condition " + name
}

func expectServing(catalog *unstructured.Unstructured) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(refresh(catalog)).To(Succeed())
		status, story := condition(catalog, "Serving")
		g.Expect(status).To(Equal("True"), story)
	}).WithTimeout(managed).Should(Succeed())
}

// expectInstalled waits until a version is installed, and no other is on the way.
func expectInstalled(b bundle) {
	ginkgo.GinkgoHelper()
	extension := v1Object("ClusterExtension")
	Eventually(func(g Gomega) {
		g.Expect(refresh(extension)).To(Succeed())
		_, progress := condition(extension, "Progressing")
		status, story := condition(extension, "Installed")
		g.Expect(status).To(Equal("True"), story+"; "+progress)
		g.Expect(text(extension, "status", "install", "bundle", "name")).To(Equal(b.name), progress)
		g.Expect(text(extension, "status", "install", "bundle", "version")).To(Equal(b.version), progress)
	}).WithTimeout(managed).Should(Succeed())
}

func deploymentOfOperator() *appsv1.Deployment {
	ginkgo.GinkgoHelper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1Home, Name: deploymentName}}
	Eventually(func() error { return refresh(deployment) }).Should(Succeed())
	return deployment
}

// podOfOperator waits for the pod of the Deployment as it is now.
func podOfOperator() *corev1.Pod {
	ginkgo.GinkgoHelper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1Home, Name: deploymentName}}
	var found *corev1.Pod
	Eventually(func(g Gomega) {
		g.Expect(refresh(deployment)).To(Succeed())
		g.Expect(deployment.Status.ObservedGeneration).To(Equal(deployment.Generation))
		g.Expect(deployment.Status.UpdatedReplicas).To(Equal(deployment.Status.Replicas))
		pods := &corev1.PodList{}
		g.Expect(k8s.List(suiteCtx, pods, client.InNamespace(v1Home), client.MatchingLabels(deployment.Spec.Selector.MatchLabels))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
		g.Expect(pods.Items[0].Status.Phase).To(Equal(corev1.PodRunning))
		found = &pods.Items[0]
	}).WithTimeout(managed).Should(Succeed())
	return found
}

// printed is one of the blocks of commands below a heading of docs/install.md.
func printed(heading string, which int) string {
	ginkgo.GinkgoHelper()
	page, err := os.ReadFile("../../docs/install.md")
	Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
	Expect(found).To(BeTrue(), "docs/install.md has no section %s", heading)
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```shell\n")[1:]
	Expect(len(blocks)).To(BeNumerically(">", which), "commands below %s", heading)
	commands, _, _ := strings.Cut(blocks[which], "\n```")
	return commands
}

// run runs commands of the documentation, for a version.
func (r *registry) run(b bundle, commands string) {
	ginkgo.GinkgoHelper()
	command := exec.CommandContext(suiteCtx, "bash", "-euo", "pipefail", "-c", commands)
	command.Env = append(os.Environ(), "KUBECONFIG="+kube.Kubeconfig, "VERSION="+b.version, "IMAGE_TAG_BASE="+r.base,
		"PATH="+filepath.Dir(kube.Kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"))
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s\n%s", commands, output)
}
