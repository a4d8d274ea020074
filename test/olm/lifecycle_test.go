package olm

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/upgrade"
	"github.com/aimodel-operator/aimodel-operator/test/permissions"
	"github.com/aimodel-operator/aimodel-operator/test/process"
)

var _ = ginkgo.Describe("The bundle", ginkgo.Ordered, ginkgo.Label("v0"), func() {
	var (
		everywhere     *installation
		before         map[string]bool
		user           string
		model          *aiv1.AIModel
		service        *aiv1.InferenceService
		old, successor *operator
		integration    types.SpecReports
	)

	ginkgo.BeforeAll(func() {
		startLifecycleManager()
		publish(oldest)
		user = newNamespace("user")
		everywhere = &installation{namespace: "aimodel-operator-system"}
		create(namespaceOf(everywhere.namespace))
		Eventually(func() error {
			return refresh(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: everywhere.namespace, Name: "default"}})
		}).Should(Succeed())
		before = inventory(user)
	})

	ginkgo.AfterAll(func() { // what is still running after a failure
		end(old, successor)
	})

	ginkgo.It("installs for all namespaces, and models are served", func() {
		everywhere.subscribe(oldest)
		everywhere.approve(oldest)
		everywhere.expectSucceeded(oldest)
		old = everywhere.start(oldest)
		model, service = newModel(user, "sentiment"), newService(user, "on-gpus", "sentiment")
		create(model, service)
		expectReady(model, service)
		everywhere.expectMonitored()
	})

	// A version in between was never installed: the range of the catalog leads past it.
	ginkgo.It("is not upgraded while a model is rolled out, and restarts no pod of a user when it is, from two versions back in one step", func() {
		publish(current)
		everywhere.offered(current)

		ginkgo.By("waiting while a model is rolled out, as the operator says itself")
		edit(service, func() {
			service.Spec.ChartValues = &runtime.RawExtension{Raw: []byte(
				`{"podAnnotations": {"localkube.dev/behavior": "slow-start", "localkube.dev/delay": "40s"}}`)}
		})
		upgradeable := func(b bundle) func() string {
			return func() string {
				condition := everywhere.condition(b)
				Expect(refresh(condition)).To(Succeed())
				list, _, _ := unstructured.NestedSlice(condition.Object, "spec", "conditions")
				for _, entry := range list {
					if said, ok := entry.(map[string]any); ok && said["type"] == "Upgradeable" {
						return fmt.Sprint(said["status"], " ", said["reason"])
					}
				}
				return ""
			}
		}
		Eventually(upgradeable(oldest)).Should(Equal("False " + upgrade.ReasonRollingOut))
		everywhere.approve(current)
		everywhere.expectPhase(current, "Pending", "OperatorConditionNotUpgradeable")
		Expect(old.process.Running()).To(Succeed())
		expectReady(service)
		served := running(user)
		Expect(served).To(HaveLen(2 + 3))

		ginkgo.By("going on when that is done")
		everywhere.expectSucceeded(current)
		everywhere.expectReplaced(oldest, current)
		old.stop()
		everywhere.spoilMonitoring()
		successor = everywhere.start(current)
		expectReady(model, service)
		everywhere.expectMonitored()
		Consistently(running).WithArguments(user).Should(Equal(served))
		Eventually(upgradeable(current)).Should(Equal("True " + upgrade.ReasonIdle))

		ginkgo.By("and goes on serving what is asked of it after that")
		edit(model, func() { *model.Spec.Replicas = 3 })
		expectReady(model)
		Expect(running(user)).To(HaveLen(2 + 4))
	})

	ginkgo.It("shows its metrics to those who may read them, and to nobody else", func() {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: user, Name: "scraper"}}
		create(account)
		url := "https://" + successor.metrics + "/metrics"
		token := tokenOf(account)
		Eventually(func() (int, error) { return get(url, token) }).Should(Equal(403))
		Expect(get(url, "")).To(Equal(401))
		create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "scraper"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "aimodel-operator-metrics-reader"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: user, Name: account.Name}},
		})
		ginkgo.DeferCleanup(func() {
			remove(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "scraper"}})
		})
		Eventually(func() (int, error) { return get(url, token) }).Should(Equal(200))
	})

	ginkgo.DescribeTable("passes the scorecard test", func(name string) {
		namespace := newNamespace("scorecard")
		ginkgo.DeferCleanup(func() { remove(namespaceOf(namespace)) })
		result := scorecard(namespace, name)
		Expect(result.State).To(Equal("pass"), "%v", result)
		Expect(result.Log).NotTo(BeEmpty())
		models := &aiv1.AIModelList{}
		Expect(k8s.List(suiteCtx, models, client.InNamespace(namespace))).To(Succeed())
		Expect(models.Items).To(BeEmpty(), "the test cleans up")
	},
		ginkgo.Entry(nil, "sample-available"),
		ginkgo.Entry(nil, "scale-subresource"),
		ginkgo.Entry(nil, "broken-image-reason"),
		ginkgo.Entry(nil, "registry-cleanup"),
	)

	ginkgo.It("passes the integration tests that start no operator, as it is installed", func() {
		integration = asInstalled.run("INTEGRATION_OPERATOR=running")
	})

	ginkgo.It("passes those that start operators, which have its permissions", func() {
		successor.stop()
		removeMonitoring() // specs install it themselves
		rest := starting.run("INTEGRATION_ACCOUNT=" + kubeconfigOf(successor.account))
		installMonitoring()
		successor = everywhere.start(current)
		everywhere.expectMonitored()
		if allIntegration() {
			expectEverySpec(integration, rest)
		}
	})

	ginkgo.It("grants what the operator uses, no more and no less", func() {
		// A watch is in the log once it has ended.
		successor.stop()
		// What the Lifecycle Manager grants beside it is for the operator's own OperatorCondition.
		used, refused := auditSince(0, successor.user)
		maps.DeleteFunc(used, func(permission string, _ bool) bool { return strings.Contains(permission, " operators.coreos.com/") })
		Expect(refused).To(BeEmpty())
		Expect(used.Sorted()).To(Equal(permissions.Granted(rulesOf(current))))
		for user := range operatorRequests() {
			Expect(user).To(Or(Equal(successor.user), MatchRegexp(`^system:serviceaccount:it-\w+:operator$`)), "an operator with other permissions")
		}

		ginkgo.By("and the scorecard tests fail without it")
		namespace := newNamespace("scorecard")
		ginkgo.DeferCleanup(func() { remove(namespaceOf(namespace)) })
		result := scorecard(namespace, "sample-available", "--timeout=3s")
		Expect(result.State).To(Equal("fail"))
		Expect(result.Errors).To(ConsistOf(ContainSubstring("does the operator run")))
		successor = everywhere.start(current)
	})

	ginkgo.It("is uninstalled and leaves what users made, and what serves them, as it is", func() {
		served := running(user)
		everywhere.uninstall(current)
		successor.stop()
		remove(lifecycleObject("OperatorGroup", everywhere.namespace, packageName))
		monitor, rules := everywhere.monitoring()
		for _, object := range []client.Object{monitor, rules} {
			Eventually(refresh).WithArguments(object).WithTimeout(managed).Should(MatchError(ContainSubstring("not found")))
		}
		Eventually(addedTo).WithArguments(before, user).WithTimeout(managed).Should(ConsistOf(leftAfterUninstall(everywhere.namespace)))
		Consistently(running).WithArguments(user).Should(Equal(served))
		Expect(refresh(model)).To(Succeed())
		Expect(refresh(service)).To(Succeed())

		ginkgo.By("and what serves a model goes with the model, without the operator")
		remove(service)
		remove(model)
		Eventually(running).WithArguments(user).Should(BeEmpty())

		ginkgo.By("and nothing is left when the rest is deleted as the documentation says")
		kubectl("delete", "crd", "aimodels.ai.example.com", "inferenceservices.ai.example.com", "modelregistries.ai.example.com")
		kubectl("delete", "clusterrole", "-l", "app.kubernetes.io/part-of=aimodel-operator")
		kubectl("delete", "operators.operators.coreos.com", packageName+"."+everywhere.namespace)
		kubectl("delete", "namespace", everywhere.namespace)
		Eventually(addedTo).WithArguments(before, user).WithTimeout(managed).Should(BeEmpty())
	})

	// In a cluster without another installation:
	specifyChannels()
	specifyInstallModes()
})

func kubectl(args ...string) {
	ginkgo.GinkgoHelper()
	command := exec.CommandContext(suiteCtx, kube.Kubectl, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kube.Kubeconfig)
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
}

// scorecardResult is one of the results that cmd/scorecard prints.
type scorecardResult struct {
	State, Log string
	Errors     []string
}

// scorecard runs a test of cmd/scorecard as a process, under an account that may edit the namespace, as a pod of scorecard
// would run it.
func scorecard(namespace, test string, args ...string) scorecardResult {
	ginkgo.GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scorecard"}}
	create(account, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scorecard"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "scorecard"}},
	})
	program, err := process.Binary("scorecard")
	Expect(err).NotTo(HaveOccurred())
	args = append([]string{"--bundle", current.folder, "--broken-pod-annotation=localkube.dev/behavior=image-pull-backoff"}, args...)
	command := exec.CommandContext(suiteCtx, program, append(args, test)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfigOf(account), "SCORECARD_NAMESPACE="+namespace)
	command.Stderr = ginkgo.GinkgoWriter
	output, err := command.Output()
	Expect(err).NotTo(HaveOccurred())
	var status struct{ Results []scorecardResult }
	Expect(json.Unmarshal(output, &status)).To(Succeed())
	Expect(status.Results).To(HaveLen(1))
	return status.Results[0]
}

// rulesOf are all permissions that a bundle asks for.
func rulesOf(b bundle) []rbacv1.PolicyRule {
	ginkgo.GinkgoHelper()
	csv := decode(csvFile(b.folder))[0]
	var rules []rbacv1.PolicyRule
	for _, field := range []string{"permissions", "clusterPermissions"} {
		list, _, err := unstructured.NestedSlice(csv.Object, "spec", "install", "spec", field)
		Expect(err).NotTo(HaveOccurred())
		for _, entry := range list {
			var strategy struct {
				Rules []rbacv1.PolicyRule `json:"rules"`
			}
			object, ok := entry.(map[string]any)
			Expect(ok).To(BeTrue())
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object, &strategy)).To(Succeed())
			rules = append(rules, strategy.Rules...)
		}
	}
	Expect(rules).NotTo(BeEmpty())
	return rules
}

func auditSize() int64 {
	ginkgo.GinkgoHelper()
	info, err := os.Stat(kube.AuditLog)
	Expect(err).NotTo(HaveOccurred())
	return info.Size()
}

// operatorRequests counts what operators asked for, by user, since the control plane was started.
func operatorRequests() map[string]int {
	ginkgo.GinkgoHelper()
	log, err := os.Open(kube.AuditLog)
	Expect(err).NotTo(HaveOccurred())
	defer log.Close() //nolint:errcheck // it was only read
	requests, err := permissions.Requests(log, aiv1.ManagedBy)
	Expect(err).NotTo(HaveOccurred())
	Expect(requests).NotTo(BeEmpty())
	return requests
}

// auditSince tells what a user asked for, and was refused, since the audit log had a size.
func auditSince(start int64, user string) (used permissions.Used, refused []string) {
	ginkgo.GinkgoHelper()
	log, err := os.Open(kube.AuditLog)
	Expect(err).NotTo(HaveOccurred())
	defer log.Close() //nolint:errcheck // it was only read
	_, err = log.Seek(start, 0)
	Expect(err).NotTo(HaveOccurred())
	used, refused, err = permissions.ReadAudit(log, user)
	Expect(err).NotTo(HaveOccurred())
	return used, refused
}
