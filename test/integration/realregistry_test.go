package integration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/inspect"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

// realRegistry is a registry that runs for real, on this machine.
type realRegistry struct {
	spec   v1alpha1.ModelRegistrySpec
	secret map[string]string
	// server looks into it past the operator.
	server  conformance.Server
	process *servers.Process
	// hangs: it is made to hang instead of being stopped.
	hangs bool
	// listsServings: it has a place for where a model is served.
	listsServings bool
	// many is how many models come and go at once.
	many int
}

func (r *realRegistry) goDown() {
	if r.hangs {
		r.process.Freeze()
	} else {
		r.process.Stop()
	}
}

func (r *realRegistry) comeBack() {
	if r.hangs {
		r.process.Thaw()
	} else {
		r.process.Start()
	}
}

// connect makes a ModelRegistry that leads to it.
func (r *realRegistry) connect(namespace, name string, timeout time.Duration) {
	ginkgo.GinkgoHelper()
	of := newRegistry(namespace, name)
	of.Spec = *r.spec.DeepCopy()
	of.Spec.Timeout = &metav1.Duration{Duration: timeout}
	if r.secret != nil {
		of.Spec.Auth = &v1alpha1.RegistryAuth{SecretName: name}
		create(&corev1.Secret{ObjectMeta: objectMeta(namespace, name), StringData: r.secret})
	}
	create(of)
}

var realRegistries = map[string]func(testing.TB) *realRegistry{
	"OCI": func(t testing.TB) *realRegistry {
		server := servers.StartOCI(t, servers.OCIOptions{Credentials: true})
		return &realRegistry{
			spec:   v1alpha1.ModelRegistrySpec{Type: v1alpha1.RegistryOCI, URL: server.URL + "/models"},
			secret: map[string]string{v1alpha1.SecretKeyUsername: server.User, v1alpha1.SecretKeyPassword: server.Password},
			server: inspect.OCI{OCI: server, Path: "models"}, process: server.Process, many: 200,
		}
	},
	"webhook": func(t testing.TB) *realRegistry {
		server := servers.StartReceiver(t)
		return &realRegistry{
			spec:   v1alpha1.ModelRegistrySpec{Type: v1alpha1.RegistryWebhook, URL: server.URL},
			secret: map[string]string{v1alpha1.SecretKeyToken: server.Token, v1alpha1.SecretKeySigningKey: server.Secret},
			server: inspect.Receiver{EntriesURL: server.EntriesURL}, process: server.Process, many: 200,
			hangs: true, listsServings: true, // it keeps its entries in memory
		}
	},
	"MLflow": func(t testing.TB) *realRegistry {
		server := servers.StartMLflow(t)
		return &realRegistry{
			spec:   v1alpha1.ModelRegistrySpec{Type: v1alpha1.RegistryMLflow, URL: server.URL},
			server: inspect.MLflow{URL: server.URL}, process: server.Process, many: 20,
			listsServings: true,
		}
	},
	"Kubeflow": func(t testing.TB) *realRegistry {
		server := servers.StartKubeflow(t)
		if server.Process == nil {
			ginkgo.Skip("NOT TESTED: the registry has to be stopped and started, and the one that was given is somebody else's")
		}
		return &realRegistry{
			spec: v1alpha1.ModelRegistrySpec{Type: v1alpha1.RegistryKubeflow, URL: server.URL},
			// It deletes nothing, so "as before" is what is not archived, and what is deployed.
			server: inspect.Kubeflow{URL: server.URL, Live: true}, process: server.Process, many: 200,
			listsServings: true,
		}
	},
}

var _ = describeOwnOperators("Real model registries", func() {
	for _, name := range []string{"OCI", "webhook", "MLflow", "Kubeflow"} { // in an order that stays
		ginkgo.Context(name, ginkgo.Ordered, func() { describeRealRegistry(realRegistries[name]) })
	}

	ginkgo.It("that hang hold up no others", func() {
		t := ginkgo.GinkgoTB()
		hung, well := realRegistries["OCI"](t), realRegistries["webhook"](t)
		hung.hangs = true
		namespace := newNamespace()
		ginkgo.DeferCleanup(freeRegistrations, namespace)
		hung.connect(namespace, "hung", 2*time.Minute)
		well.connect(namespace, "main", 5*time.Second)
		runOperator(operatorSettings{namespaces: []string{namespace}})
		hung.goDown()
		ginkgo.DeferCleanup(hung.process.Thaw)
		var waiting, served []*aiv1.AIModel
		for i := range 30 { // more than there are workers
			waiting = append(waiting, newModel(namespace, fmt.Sprintf("waits-%d", i), registered(func(r *aiv1.Registry) {
				r.RegistryRef.Name, r.RegisteredName = "hung", fmt.Sprintf("waits-%d", i)
			})))
			create(waiting[i])
		}
		for _, model := range waiting {
			Eventually(func() []string { return live(model).Finalizers }).Should(Not(BeEmpty()))
		}
		for i := range 10 {
			served = append(served, newModel(namespace, fmt.Sprintf("m%d", i), registered(func(r *aiv1.Registry) { r.RegisteredName = fmt.Sprintf("m%d", i) })))
			create(served[i])
		}
		expectRegistered(served...)
		for _, model := range waiting {
			Expect(condition(live(model), aiv1.ConditionRegistered).Reason).NotTo(Equal(aiv1.ReasonRegistered))
		}
		hung.comeBack()
		expectRegistered(waiting...)
		Expect(k8s.DeleteAllOf(suiteCtx, &aiv1.AIModel{}, client.InNamespace(namespace))).To(Succeed())
		for _, model := range append(waiting, served...) {
			expectGone(model)
		}
		Expect(hung.server.Dump(t, "") + well.server.Dump(t, "")).To(BeEmpty())
	})
})

// describeRealRegistry is what a user of a registry sees, whatever its kind.
func describeRealRegistry(start func(testing.TB) *realRegistry) {
	var t testing.TB
	var target *realRegistry
	var namespace, before string
	ginkgo.BeforeAll(func() {
		t = ginkgo.GinkgoTB()
		target = start(t)
		target.server.Add(t, "bystander", "1", map[string]string{"theirs": "kept"})
	})
	connect := func() string {
		ginkgo.GinkgoHelper()
		namespace := newNamespace()
		ginkgo.DeferCleanup(freeRegistrations, namespace)
		target.connect(namespace, "main", 5*time.Second)
		return namespace
	}
	ginkgo.BeforeEach(func() {
		namespace, before = connect(), target.server.Dump(t, "")
	})
	asBefore := func() {
		ginkgo.GinkgoHelper()
		Expect(target.server.Dump(t, "")).To(Equal(before), "the registry is not as it was before")
	}
	// entries are those of a name that are not archived. Where nothing can be deleted, a deleted one is.
	entries := func(name string) []conformance.Entry {
		ginkgo.GinkgoHelper()
		return slices.DeleteFunc(target.server.Entries(t, name), func(e conformance.Entry) bool { return e.Archived })
	}
	only := func(name string) conformance.Entry {
		ginkgo.GinkgoHelper()
		entries := entries(name)
		Expect(entries).To(HaveLen(1), name)
		return entries[0]
	}
	// deletedWhileDown is a model with an entry of that name, whose deletion waits for the registry.
	deletedWhileDown := func(name string) *aiv1.AIModel {
		ginkgo.GinkgoHelper()
		runOperator(operatorSettings{namespaces: []string{namespace}})
		model := newModel(namespace, "m", registered(func(r *aiv1.Registry) { r.RegisteredName = name }))
		create(model)
		expectRegistered(model)
		target.goDown()
		ginkgo.DeferCleanup(func() { target.process.Thaw() })
		Expect(k8s.Delete(suiteCtx, model)).To(Succeed())
		expectCondition(model, aiv1.ConditionCleanedUp, "False", aiv1.ReasonUnreachable)
		return model
	}

	ginkgo.It("has an entry while the model is there, says where it is served, and is as before afterwards", func() {
		runOperator(operatorSettings{namespaces: []string{namespace}, cluster: "one"})
		model := newModel(namespace, "m", registered(func(r *aiv1.Registry) { r.RegisteredName, r.Tags = "tells", map[string]string{"team": "a"} }))
		going, staying := newService(namespace, "going", "m"), newService(namespace, "staying", "m")
		create(model, going, staying)
		expectRegistered(model)
		Expect(*model.Status.Registry).To(And(HaveField("ID", Not(BeEmpty())), HaveField("Version", Not(BeEmpty())),
			HaveField("Created", true), HaveField("Key", HaveLen(32)), HaveField("LastError", BeEmpty())))
		entry := only("tells")
		Expect(entry.Tags).To(HaveKeyWithValue("team", "a"))
		Expect(registry.ReadMarks(entry.Tags).Owner).To(Equal(
			registry.Owner{Cluster: "one", Namespace: namespace, Name: "m", UID: model.UID}))

		if target.listsServings {
			servings := func() []string { return only("tells").Servings }
			Eventually(servings).Should(ConsistOf(ContainSubstring("going-server"), ContainSubstring("staying-server")))
			remove(going)
			Eventually(servings).Should(ConsistOf(ContainSubstring("staying-server")))
		}
		edit(model, func() { model.Spec.Registry.Tags = map[string]string{"stage": "b"} })
		Eventually(func() map[string]string { return only("tells").Tags }).Should(And(HaveKeyWithValue("stage", "b"), Not(HaveKey("team"))))

		of := newRegistry(namespace, "main")
		Eventually(func(g Gomega) {
			g.Expect(refresh(of)).To(Succeed())
			g.Expect(of.Status.Conditions).To(HaveEach(HaveField("Status", metav1.ConditionTrue)))
			g.Expect(of.Status.Registrations).To(BeEquivalentTo(1))
		}).Should(Succeed())
		remove(model)
		asBefore()
	})

	ginkgo.It("holds a deletion while it is down, and ends it when it is back", func() {
		model := deletedWhileDown("down")
		of := newRegistry(namespace, "main")
		Eventually(func(g Gomega) {
			g.Expect(refresh(of)).To(Succeed())
			g.Expect(of.Status.Conditions).To(ContainElement(And(
				HaveField("Type", v1alpha1.ConditionReachable), HaveField("Status", metav1.ConditionFalse))))
		}).WithTimeout(healing).Should(Succeed())
		target.comeBack()
		Eventually(func() bool { return refresh(model) != nil }).WithTimeout(healing).Should(BeTrue(), "the model is still there")
		asBefore()
	})

	ginkgo.It("lets a model go that gives up its entry while the registry is down", func() {
		model := deletedWhileDown("left")
		edit(model, func() { model.Annotations = map[string]string{aiv1.AnnotationSkipRegistryCleanup: "it moved"} })
		expectGone(model)
		target.comeBack()
		if !target.hangs { // one that hung may still get what it was sent
			Expect(registry.ReadMarks(only("left").Tags).Owner.UID).To(Equal(model.UID))
		}
		// One of the same name takes the entry back, and then it can be cleaned up.
		model = newModel(namespace, "m", registered(func(r *aiv1.Registry) { r.RegisteredName = "left" }))
		create(model)
		expectRegistered(model)
		Expect(registry.ReadMarks(only("left").Tags).Owner.UID).To(Equal(model.UID))
		remove(model)
		asBefore()
	})

	ginkgo.It("keeps the entry of one cluster from another", func() {
		other := connect()
		runOperator(operatorSettings{namespaces: []string{namespace}, cluster: "one"})
		runOperator(operatorSettings{namespaces: []string{other}, cluster: "two"})
		shared := registered(func(r *aiv1.Registry) { r.RegisteredName = "shared" })
		first, second := newModel(namespace, "m", shared), newModel(other, "m", shared)
		create(first)
		expectRegistered(first)
		mine := target.server.Dump(t, "")
		create(second)
		expectCondition(second, aiv1.ConditionRegistered, "False", aiv1.ReasonConflict, "cluster one")
		remove(second)
		Expect(target.server.Dump(t, "")).To(Equal(mine), "the entry of the first cluster was touched")

		second = newModel(other, "m", shared)
		second.Spec.ModelVersion = "2"
		second.Spec.Registry.AdoptionPolicy = aiv1.AdoptionIfUnowned // where others have versions in a model
		create(second)
		expectRegistered(second)
		Expect(entries("shared")).To(HaveLen(2))
		remove(first)
		Expect(registry.ReadMarks(only("shared").Tags).Owner.Cluster).To(Equal("two"))
		remove(second)
		asBefore()
	})

	ginkgo.It("is as before after many models came and went at once", func() {
		runOperator(operatorSettings{namespaces: []string{namespace}})
		made := make([]*aiv1.AIModel, target.many)
		var hasty []client.Object
		for i := range made {
			made[i] = newModel(namespace, fmt.Sprintf("m%d", i), registered(func(r *aiv1.Registry) { r.RegisteredName = fmt.Sprintf("many-%d", i/2) }))
			made[i].Spec.ModelVersion = fmt.Sprint(i % 2)
			made[i].Spec.Registry.AdoptionPolicy = aiv1.AdoptionIfUnowned
			create(made[i])
			if i%5 == 0 { // deleted whatever has become of it by now
				Expect(k8s.Delete(suiteCtx, made[i])).To(Succeed())
				hasty = append(hasty, made[i])
			}
		}
		expectGone(hasty...)
		Eventually(func(g Gomega) {
			list := &aiv1.AIModelList{}
			g.Expect(k8s.List(suiteCtx, list, client.InNamespace(namespace))).To(Succeed())
			g.Expect(list.Items).To(HaveLen(len(made) - len(hasty)))
			for i := range list.Items {
				g.Expect(condition(&list.Items[i], aiv1.ConditionRegistered).Reason).To(Equal(aiv1.ReasonRegistered), list.Items[i].Name)
			}
		}).WithTimeout(2 * healing).Should(Succeed())
		count := 0
		for i := range (len(made) + 1) / 2 {
			count += len(entries(fmt.Sprintf("many-%d", i)))
		}
		Expect(count).To(Equal(len(made) - len(hasty)))

		Expect(k8s.DeleteAllOf(suiteCtx, &aiv1.AIModel{}, client.InNamespace(namespace))).To(Succeed())
		Eventually(func(g Gomega) {
			list := &aiv1.AIModelList{}
			g.Expect(k8s.List(suiteCtx, list, client.InNamespace(namespace))).To(Succeed())
			g.Expect(list.Items).To(BeEmpty())
		}).WithTimeout(2 * healing).Should(Succeed())
		asBefore()
	})
}
