package integration

import (
	"net/http"
	"net/http/httptest"
	"slices"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/test/permissions"
)

var _ = describeOwnOperators("The operator's permissions", func() {
	ginkgo.It("are what it uses, no more and no less, and reach no Secret that nobody lets it read", func() {
		needSimulatedPods()
		needNoPodMonitors()
		home, namespace := newNamespace(), newNamespace()
		installPodMonitors()
		config := accountConfig(home)
		role := clusterRole("role.yaml", home+"-manager")
		bind(home, "", role)
		registries := newFakeRegistry()
		o := runOperator(operatorSettings{namespaces: []string{namespace}, config: config, backend: registries.factory})

		useEveryPermission(namespace)

		of, entry := newRegistry(namespace, "main"), newModel(namespace, "entry", registered())
		create(of, entry)
		expectRegistered(entry)
		remove(entry)
		remove(of)

		Expect(o.requests.forbidden()).To(BeEmpty())
		Eventually(permissionsUsed).WithArguments(o).Should(Equal(permissions.Granted(role.Rules)))

		create(&corev1.Secret{ObjectMeta: objectMeta(namespace, "keys"), StringData: map[string]string{"KEY": "x"}})
		secretive := newModel(namespace, "secretive", withImage, withSecret("keys", ""))
		create(secretive)
		expectReason(secretive, aiv1.ReasonSecretForbidden, `"keys"`, "aimodel-operator-credentials-reader")
		for _, sent := range o.requests.forbidden() {
			Expect(sent.String()).To(Equal(http.MethodGet + " /api/v1/namespaces/" + namespace + "/secrets/keys"))
		}
		bind(home, namespace, clusterRole("credentials_reader_role.yaml", home+"-reader"))
		expectReady(secretive)
	})

	ginkgo.It("may be fewer, which makes messages say less", func() {
		needSimulatedPods()
		home, namespace := newNamespace(), newNamespace()
		config := accountConfig(home)
		role := clusterRole("role.yaml", home+"-manager")
		edit(role, func() {
			role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
				return slices.Contains(rule.Resources, "nodes") || slices.Contains(rule.Resources, "persistentvolumeclaims")
			})
		})
		bind(home, "", role)
		runOperator(operatorSettings{namespaces: []string{namespace}, config: config})
		tooBig, noClaim := newService(namespace, "too-big", "m", withGPUs(16)), newService(namespace, "no-claim", "m", withClaim("nowhere"))
		crash := newService(namespace, "crash", "m", withBehavior("crash-loop"))
		create(newModel(namespace, "m"), tooBig, noClaim, crash)
		expectReason(tooBig, aiv1.ReasonUnschedulable, "Insufficient nvidia.com/gpu", "A replica asks for 16 nvidia.com/gpu")
		expectReason(noClaim, aiv1.ReasonVolumeNotBound, `persistentvolumeclaim "nowhere" not found`)
		expectReason(crash, aiv1.ReasonCrashLoop, "exit code 1")
		Expect(condition(tooBig, aiv1.ConditionReady).Message).NotTo(ContainSubstring("It may use"))
	})
})

// An operator that somebody else started is only made to use its permissions. Whoever started it knows what it was granted.
var _ = ginkgo.Describe("The permissions of a running operator", func() {
	ginkgo.It("are put to use, each of them", func() {
		if !external {
			ginkgo.Skip("SKIPPED: the tests start the operator, and the spec above compares what it uses with what it is granted: " +
				"set INTEGRATION_OPERATOR=running for one that runs, as test/olm does")
		}
		needSimulatedPods()
		needNoPodMonitors()
		namespace := newNamespace()
		installPodMonitors()
		useEveryPermission(namespace)
		create(&corev1.Secret{ObjectMeta: objectMeta(namespace, "keys"), StringData: map[string]string{"KEY": "x"}})
		secretive := newModel(namespace, "secretive", withImage, withSecret("keys", ""))
		create(secretive)
		expectReady(secretive)

		// The simplest registry that there is: it takes everything.
		server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		ginkgo.DeferCleanup(server.Close)
		of, entry := newRegistry(namespace, "main"), newModel(namespace, "entry", registered())
		of.Spec.URL = server.URL
		create(of, entry)
		expectRegistered(entry)
		remove(entry)
		remove(of)
	})
})

// useEveryPermission has the operator do everything that its role is for, but for reading Secrets. The cluster serves
// PodMonitors.
func useEveryPermission(namespace string) {
	ginkgo.GinkgoHelper()
	// Jobs are asked about once a server has been crashing for a while, which it does meanwhile.
	filledBy("evicted")(namespace)
	unfilled := newService(namespace, "unfilled", "m", crashingOnClaim)
	create(unfilled)
	// Every kind of child is created, changed and deleted.
	model := newModel(namespace, "m", withImage)
	service := newService(namespace, "s", "m", withAutoscaling(3), withValues("{podMonitor: {enabled: true}}"))
	create(model, service)
	expectReady(model, service)
	edit(service, func() {
		service.Spec.Autoscaling.MaxReplicas = 4
		service.Spec.Disruption = &aiv1.Disruption{MinAvailable: ptr.To(intstr.FromInt32(1))}
		service.Spec.Runtime.Args = []string{"--new"}
		withValues("{podMonitor: {enabled: true, interval: 5s}, service: {annotations: {a: b}}, serviceAccount: {annotations: {a: b}}}")(&service.Spec)
	})
	expectReady(service)
	edit(service, func() {
		service.Spec.Autoscaling, service.Spec.Disruption, service.Spec.Replicas = nil, nil, new(int32)
		withValues("{serviceAccount: {name: default}}")(&service.Spec)
	})
	expectReadyFor(service, aiv1.ReasonScaledToZero)
	Expect(children(service)).To(ConsistOf("Deployment/s-server", "Service/s-server"))
	expectGone(podMonitorOf(namespace, "s-server"))
	// An event that repeats is patched, not created.
	for range 2 {
		mine := serviceOf(namespace, "s-server")
		edit(mine, func() { mine.Spec.Ports[0].Port = 81 })
		Eventually(func() int32 { return live(mine).Spec.Ports[0].Port }).Should(BeEquivalentTo(80))
	}
	// What is asked about pods in trouble: their events, the nodes that do not take them, and the claims that they wait for.
	for reason, broken := range map[string]*aiv1.InferenceService{
		aiv1.ReasonCrashLoop:      newService(namespace, "crash", "m", withBehavior("crash-loop")),
		aiv1.ReasonUnschedulable:  newService(namespace, "too-big", "m", withGPUs(16)),
		aiv1.ReasonVolumeNotBound: newService(namespace, "no-claim", "m", withClaim("nowhere")),
	} {
		create(broken)
		expectReason(broken, reason)
		Expect(k8s.Delete(suiteCtx, broken)).To(Succeed())
	}
	expectReason(unfilled, aiv1.ReasonCrashLoop, `the Job "fetch"`)
	Expect(k8s.Delete(suiteCtx, unfilled)).To(Succeed())
	edit(model, func() { model.Spec.Image = "" })
	expectReadyFor(model, aiv1.ReasonCatalogued)
	Eventually(children).WithArguments(model).Should(BeEmpty())
	expectEvents(model, corev1.EventTypeNormal, aiv1.ReasonReady, aiv1.ReasonCatalogued, "Deleted")
}

// permissionsUsed lists what an operator has asked the API server for.
func permissionsUsed(o *operator) []string {
	used := permissions.Used{}
	for _, sent := range o.requests.matching(func(request) bool { return true }) {
		used.Add(sent.method, sent.path, sent.watch)
	}
	return used.Sorted()
}

// clusterRole creates a role of the installation, under a name of the spec's own.
func clusterRole(file, name string) *rbacv1.ClusterRole {
	ginkgo.GinkgoHelper()
	role := &rbacv1.ClusterRole{}
	Expect(yaml.UnmarshalStrict(readFile("../../config/rbac/"+file), role)).To(Succeed())
	role.ObjectMeta = metav1.ObjectMeta{Name: name}
	create(role)
	ginkgo.DeferCleanup(func() { Expect(k8s.Delete(suiteCtx, role)).To(Succeed()) })
	return role
}

// bind gives a role to the operator's account in one namespace, or in all when it is empty.
func bind(home, namespace string, role *rbacv1.ClusterRole) {
	ginkgo.GinkgoHelper()
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: "operator"}}
	if namespace != "" {
		create(&rbacv1.RoleBinding{ObjectMeta: objectMeta(namespace, role.Name), RoleRef: ref, Subjects: subjects})
		return
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role.Name}, RoleRef: ref, Subjects: subjects}
	create(binding)
	ginkgo.DeferCleanup(func() { Expect(k8s.Delete(suiteCtx, binding)).To(Succeed()) })
}

// accountConfig reaches the API server as a ServiceAccount that has no permission yet.
func accountConfig(home string) *rest.Config {
	ginkgo.GinkgoHelper()
	account := accountOf(home, "operator")
	create(account)
	token := &authenticationv1.TokenRequest{}
	Expect(k8s.SubResource("token").Create(suiteCtx, account, token)).To(Succeed())
	config := rest.AnonymousClientConfig(kube.Config)
	config.BearerToken = token.Status.Token
	return config
}
