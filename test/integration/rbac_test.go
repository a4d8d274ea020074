package integration

import (
	"net/http"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = ginkgo.Describe("The operator's permissions", ginkgo.Ordered, func() {
	ownOperators()

	ginkgo.It("are enough for everything it does, and reach no Secret that nobody lets it read", func() {
		needSimulatedPods()
		home, namespace := newNamespace(), newNamespace()
		config := accountConfig(home)
		bind(home, "", clusterRole("role.yaml", home+"-manager"))
		o := runOperator(operatorSettings{namespaces: []string{namespace}, config: config})

		model := newModel(namespace, "m", withImage, withReplicas(2))
		service := newService(namespace, "s", "m", withAutoscaling(3))
		create(model, service)
		expectReady(model, service)
		edit(model, func() { model.Spec.ModelVersion = "2" })
		edit(service, func() { service.Spec.Autoscaling, service.Spec.Replicas = nil, new(int32) })
		expectReady(model)
		expectReadyFor(service, aiv1.ReasonScaledToZero)
		expectGone(autoscalerOf(namespace, "s-server"))
		remove(serviceOf(namespace, "m"))
		live(serviceOf(namespace, "m"))
		edit(model, func() { model.Spec.Image = "" })
		expectReadyFor(model, aiv1.ReasonCatalogued)
		Eventually(children).WithArguments(model).Should(BeEmpty())
		// A Secret is none of these permissions' business.
		Expect(o.requests.forbidden()).To(BeEmpty())
		expectEvents(model, corev1.EventTypeNormal, aiv1.ReasonReady, aiv1.ReasonRollingOut, aiv1.ReasonReady, aiv1.ReasonCatalogued, "Deleted")

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
})

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
