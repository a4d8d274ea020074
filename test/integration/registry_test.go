package integration

import (
	"fmt"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

var errRegistryDown = registry.Errorf(registry.Unreachable, "the registry is down")

func newRegistry(namespace, name string) *v1alpha1.ModelRegistry {
	return &v1alpha1.ModelRegistry{
		ObjectMeta: objectMeta(namespace, name),
		Spec:       v1alpha1.ModelRegistrySpec{Type: v1alpha1.RegistryWebhook, URL: "http://registry.invalid"},
	}
}

// registered asks for a registration in the registry "main".
func registered(change ...func(*aiv1.Registry)) func(*aiv1.AIModelSpec) {
	return func(spec *aiv1.AIModelSpec) {
		spec.Registry = &aiv1.Registry{RegistryRef: &aiv1.RegistryReference{Name: "main"}}
		for _, f := range change {
			f(spec.Registry)
		}
	}
}

func expectCondition(of owner, kind, status, reason string, words ...string) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(refresh(of)).To(Succeed())
		found := condition(of, kind)
		g.Expect(string(found.Status)+" "+found.Reason).To(Equal(status+" "+reason), "%s of %s: %s", kind, of.GetName(), found.Message)
		g.Expect(found.ObservedGeneration).To(Equal(of.GetGeneration()))
		for _, word := range words {
			g.Expect(found.Message).To(ContainSubstring(word))
		}
	}).WithTimeout(healing).Should(Succeed())
}

func expectRegistered(models ...*aiv1.AIModel) {
	ginkgo.GinkgoHelper()
	for _, model := range models {
		expectCondition(model, aiv1.ConditionRegistered, "True", aiv1.ReasonRegistered)
	}
}

// expectNothingPrevious waits until no earlier entry of a model is still to be cleaned up. What is still to be cleaned up follows
// the policy of the moment.
func expectNothingPrevious(model *aiv1.AIModel) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(refresh(model)).To(Succeed())
		g.Expect(model.Status.Registry.Previous).To(BeEmpty())
	}).Should(Succeed())
}

// freeRegistrations takes the finalizers off what a spec leaves, since the operator that would do so has ended with it.
func freeRegistrations(namespace string) {
	for _, list := range []client.ObjectList{&aiv1.AIModelList{}, &v1alpha1.ModelRegistryList{}} {
		Expect(k8s.List(suiteCtx, list, client.InNamespace(namespace))).To(Succeed())
		Expect(meta.EachListItem(list, func(item runtime.Object) error {
			object, ok := item.(client.Object)
			Expect(ok).To(BeTrue())
			return client.IgnoreNotFound(k8s.Patch(suiteCtx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
		})).To(Succeed())
	}
}

var _ = describeOwnOperators("Model registries", func() {
	var namespace string
	var fake *fakeRegistry
	var model *aiv1.AIModel
	start := func(settings operatorSettings) *operator {
		ginkgo.GinkgoHelper()
		if settings.namespaces == nil {
			settings.namespaces = []string{namespace}
		}
		settings.backend = fake.factory
		return runOperator(settings)
	}
	ginkgo.BeforeEach(func() {
		namespace, fake = newNamespace(), newFakeRegistry()
		ginkgo.DeferCleanup(freeRegistrations, namespace)
		model = newModel(namespace, "m", registered())
		create(newRegistry(namespace, "main"))
	})
	const entry = "sentiment:1"

	ginkgo.It("have an entry while the model is there, and none afterwards", func() {
		o := start(operatorSettings{})
		create(model)
		expectRegistered(model)
		Expect(model.Finalizers).To(ConsistOf(aiv1.FinalizerRegistryCleanup))
		status := model.Status.Registry
		Expect(status.ID).To(Equal("1"))
		Expect(status.Created).To(BeTrue())
		Expect(registry.ReadMarks(fake.entry(entry).tags).Owner.UID).To(Equal(model.UID))

		of := newRegistry(namespace, "main")
		Eventually(func(g Gomega) {
			g.Expect(refresh(of)).To(Succeed())
			g.Expect(of.Status.Registrations).To(BeEquivalentTo(1))
			g.Expect(of.Status.Conditions).To(HaveLen(3))
		}).Should(Succeed())
		expectReady(model)
		expectConsistent(model)
		expectQuiet(o)

		o.requests.forget()
		_, _, calls := fake.counts()
		Consistently(o.requests.writes).Should(BeEmpty())
		made, _, after := fake.counts()
		Expect([]int{made, after}).To(Equal([]int{1, calls}), "an unchanged model is not registered again")

		remove(model)
		Expect(fake.names()).To(BeEmpty())
	})

	ginkgo.It("follow the version, the name, the tags and where the model is served", func() {
		start(operatorSettings{})
		create(model, newService(namespace, "s", "m"))
		expectRegistered(model)
		Eventually(func() []registry.Serving { return fake.entry(entry).servings }).Should(HaveLen(1))
		Eventually(func() registry.Serving { return fake.entry(entry).servings[0] }).WithTimeout(healing).Should(And(
			HaveField("Name", "s"), HaveField("URL", ContainSubstring("s-server")), HaveField("Ready", simulated)))

		edit(model, func() { model.Spec.Registry.Tags = map[string]string{"team": "a"} })
		Eventually(func() map[string]string { return fake.entry(entry).tags }).Should(HaveKeyWithValue("team", "a"))

		edit(model, func() { model.Spec.ModelVersion = "2" })
		Eventually(fake.names).Should(ConsistOf("sentiment:2"))
		expectRegistered(model)
		edit(model, func() {
			model.Spec.Registry.RegisteredName, model.Spec.Registry.DeletionPolicy = "other", aiv1.DeletionArchive
		})
		Eventually(fake.names).Should(ConsistOf("sentiment:2", "other:2"))
		Eventually(func() map[string]string { return fake.entry("sentiment:2").tags }).Should(HaveKeyWithValue(registry.MarkState, registry.StateArchived))
		expectNothingPrevious(model)
		edit(model, func() { model.Spec.Registry.DeletionPolicy = aiv1.DeletionDelete })
		expectRegistered(model)

		edit(model, func() { model.Spec.Registry = nil })
		Eventually(fake.names).Should(ConsistOf("sentiment:2"))
		Eventually(func(g Gomega) {
			g.Expect(refresh(model)).To(Succeed())
			g.Expect(model.Finalizers).To(BeEmpty())
			g.Expect(model.Status.Registry).To(BeNil())
			g.Expect(condition(model, aiv1.ConditionRegistered).Type).To(BeEmpty())
		}).Should(Succeed())
		remove(newService(namespace, "s", "m"))
		remove(model)
	})

	ginkgo.It("leave alone what belongs to others, and take what the policy says", func() {
		start(operatorSettings{})
		foreign := registry.Registration{Owner: registry.Owner{Cluster: "far", Namespace: "a", Name: "b", UID: "u"}, Key: "k", Name: "sentiment", Version: "1"}
		fake.put(entry, foreign.Stored(true))
		model.Spec.Registry.Required = true
		create(model)
		expectCondition(model, aiv1.ConditionRegistered, "False", aiv1.ReasonConflict, "a/b of cluster far")
		expectReason(model, aiv1.ReasonConflict)
		Expect(registry.ReadMarks(fake.entry(entry).tags).Owner).To(Equal(foreign.Owner))
		remove(model)
		Expect(fake.names()).To(ConsistOf(entry))

		fake.put(entry, map[string]string{"stage": "prod"})
		model = newModel(namespace, "m", registered())
		create(model)
		expectCondition(model, aiv1.ConditionRegistered, "False", aiv1.ReasonAdoptionRequired)
		edit(model, func() { model.Spec.Registry.AdoptionPolicy = aiv1.AdoptionIfUnowned })
		expectRegistered(model)
		Expect(model.Status.Registry.Created).To(BeFalse())
		remove(model)
		Expect(fake.entry(entry).tags).To(Equal(map[string]string{"stage": "prod"}), "an adopted entry is left as it was found")
	})

	ginkgo.It("that are down hold a deletion until they are up, and no GPU meanwhile", func() {
		start(operatorSettings{})
		model = newModel(namespace, "m", withImage, registered())
		create(model)
		expectRegistered(model)
		fake.fail(errRegistryDown)
		Expect(k8s.Delete(suiteCtx, model)).To(Succeed())
		expectCondition(model, aiv1.ConditionCleanedUp, "False", aiv1.ReasonUnreachable, "the registry is down")
		Expect(model.Status.Registry.Cleanup.Attempts).To(BeNumerically(">", 0))
		Eventually(children).WithArguments(model).Should(BeEmpty())
		fake.fail(nil)
		expectGone(model)
		Expect(fake.names()).To(BeEmpty())
	})

	ginkgo.It("that are down for ever let a model go that asks for it", func() {
		start(operatorSettings{})
		timed := newModel(namespace, "timed", registered(func(r *aiv1.Registry) {
			r.RegisteredName, r.Cleanup = "timed", &aiv1.RegistryCleanup{Timeout: &metav1.Duration{Duration: time.Second}}
		}))
		blocked := newModel(namespace, "blocked", registered(func(r *aiv1.Registry) {
			r.RegisteredName = "blocked"
			r.Cleanup = &aiv1.RegistryCleanup{Timeout: &metav1.Duration{Duration: time.Second}, OnTimeout: aiv1.CleanupBlock}
		}))
		create(model, timed, blocked)
		expectRegistered(model, timed, blocked)
		fake.fail(errRegistryDown)
		for _, m := range []*aiv1.AIModel{model, timed, blocked} {
			Expect(k8s.Delete(suiteCtx, m)).To(Succeed())
		}
		expectGone(timed)
		expectCondition(model, aiv1.ConditionCleanedUp, "False", aiv1.ReasonUnreachable)
		edit(model, func() { model.Annotations = map[string]string{aiv1.AnnotationSkipRegistryCleanup: "it burnt down"} })
		expectGone(model)
		expectCondition(blocked, aiv1.ConditionCleanedUp, "False", aiv1.ReasonTimedOut)
		edit(blocked, func() { blocked.Spec.Registry.DeletionPolicy = aiv1.DeletionOrphan })
		expectGone(blocked)
	})

	ginkgo.It("cannot be deleted while a model uses them, and say who does", func() {
		start(operatorSettings{})
		create(model)
		expectRegistered(model)
		of := newRegistry(namespace, "main")
		Expect(k8s.Delete(suiteCtx, of)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(refresh(of)).To(Succeed())
			var text string
			for _, c := range of.Status.Conditions {
				text += c.Type + " " + c.Reason + " " + c.Message + "\n"
			}
			g.Expect(text).To(ContainSubstring("Released InUse 1 AIModel uses it: " + namespace + "/m"))
		}).Should(Succeed())
		late := newModel(namespace, "late", registered())
		create(late)
		expectCondition(late, aiv1.ConditionRegistered, "False", aiv1.ReasonRegistryDeleting)
		remove(late)
		remove(model)
		expectGone(of)
		Expect(fake.names()).To(BeEmpty())
	})

	ginkgo.It("give an entry back to an object of the same name, and to none of another cluster", func() {
		first := start(operatorSettings{cluster: "one"})
		create(model)
		expectRegistered(model)
		first.stop()
		// As a restore from a backup does: the same name, another UID, no status.
		edit(model, func() { model.Finalizers = nil })
		remove(model)
		model = newModel(namespace, "m", registered())
		create(model)

		second := start(operatorSettings{cluster: "two"})
		expectCondition(model, aiv1.ConditionRegistered, "False", aiv1.ReasonConflict, "cluster one")
		second.stop()
		start(operatorSettings{cluster: "one"})
		edit(model, func() { model.Spec.Registry.Tags = map[string]string{"a": "b"} })
		expectRegistered(model)
		made, _, _ := fake.counts()
		Expect(made).To(Equal(1))
		Expect(registry.ReadMarks(fake.entry(entry).tags).Owner.UID).To(Equal(model.UID))
		remove(model)
		Expect(fake.names()).To(BeEmpty())
	})

	ginkgo.It("are as before once a namespace is gone, whatever of it went first", func() {
		create(&corev1.Secret{ObjectMeta: objectMeta(namespace, "keys"), StringData: map[string]string{"token": "x"}})
		of := newRegistry(namespace, "main")
		edit(of, func() { of.Spec.Auth = &v1alpha1.RegistryAuth{SecretName: "keys"} })
		o := start(operatorSettings{})
		create(model)
		expectRegistered(model)
		Expect(k8s.Delete(suiteCtx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		expectGone(&corev1.Secret{ObjectMeta: objectMeta(namespace, "keys")}, model, of)
		Expect(fake.names()).To(BeEmpty())
		o.stop()
	})

	ginkgo.It("that are gone for good do not keep a namespace", func() {
		o := start(operatorSettings{})
		create(model)
		expectRegistered(model)
		o.stop()
		of := newRegistry(namespace, "main")
		edit(of, func() { of.Finalizers = nil })
		remove(of)
		Expect(k8s.Delete(suiteCtx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
		start(operatorSettings{}) // one that never knew the registry
		expectGone(model)
	})

	ginkgo.It("serve models that name none, if they are the default", func() {
		home := newNamespace()
		ginkgo.DeferCleanup(freeRegistrations, home)
		create(newRegistry(home, "central"))
		o := start(operatorSettings{namespaces: []string{namespace, home}, defaultRegistry: client.ObjectKey{Namespace: home, Name: "central"}})
		model.Spec.Registry = &aiv1.Registry{}
		create(model)
		expectRegistered(model)
		Expect(*model.Status.Registry.RegistryRef).To(Equal(aiv1.RegistrationRegistry{Namespace: home, Name: "central"}))
		remove(model)
		o.stop()
		start(operatorSettings{})
		model = newModel(namespace, "m", func(spec *aiv1.AIModelSpec) { spec.Registry = &aiv1.Registry{} })
		create(model)
		expectCondition(model, aiv1.ConditionRegistered, "False", aiv1.ReasonRegistryNotFound, "no default")
		Expect(model.Finalizers).To(BeEmpty())
	})

	ginkgo.It("are as before after 200 models came and went at once", func() {
		start(operatorSettings{})
		var models []*aiv1.AIModel
		for i := range 200 {
			m := newModel(namespace, fmt.Sprintf("m%d", i), registered(), func(spec *aiv1.AIModelSpec) { spec.ModelVersion = fmt.Sprint(i) })
			models = append(models, m)
			create(m)
		}
		Eventually(func() int { return len(fake.names()) }).WithTimeout(2 * healing).Should(Equal(200))
		Expect(k8s.DeleteAllOf(suiteCtx, &aiv1.AIModel{}, client.InNamespace(namespace))).To(Succeed())
		Eventually(func(g Gomega) {
			list := &aiv1.AIModelList{}
			g.Expect(k8s.List(suiteCtx, list, client.InNamespace(namespace))).To(Succeed())
			g.Expect(list.Items).To(BeEmpty())
		}).WithTimeout(2 * healing).Should(Succeed())
		Expect(fake.names()).To(BeEmpty())
		made, _, _ := fake.counts()
		Expect(made).To(Equal(len(models)))
	})

	ginkgo.It("have each entry once, and lose none, after an operator that died at any write or call", func() {
		dieAfter := func(count int, work func(), done func() bool) bool {
			ginkgo.GinkgoHelper()
			m := &mortal{last: func(sent int, _ string) bool { return sent == count }}
			fake.mu.Lock()
			fake.around = func(verb string, call func() error) error { return m.do(verb, model, call) }
			fake.mu.Unlock()
			o := startOperator(operatorSettings{namespaces: []string{namespace}, backend: fake.factory, faults: writes(m.do)})
			work()
			Eventually(func() bool { return m.isDead() || done() }).WithTimeout(healing).Should(BeTrue())
			o.stop()
			fake.mu.Lock()
			fake.around = nil
			fake.mu.Unlock()
			return m.isDead()
		}
		isRegistered := func() bool {
			Expect(refresh(model)).To(Succeed())
			return condition(model, aiv1.ConditionRegistered).Reason == aiv1.ReasonRegistered
		}
		gone := func() bool { return refresh(model) != nil }
		alive := 0
		for count := 1; alive < 2; count++ {
			Expect(count).To(BeNumerically("<", mostWrites))
			if !dieAfter(count, func() {
				model = newModel(namespace, "m", registered())
				create(model)
			}, isRegistered) {
				alive++
			}
			next := startOperator(operatorSettings{namespaces: []string{namespace}, backend: fake.factory})
			expectRegistered(model)
			Expect(fake.names()).To(ConsistOf(entry))
			made, _, _ := fake.counts()
			Expect(made).To(Equal(count), "one entry was made in each round")
			next.stop()

			// The version is changed, and then the model deleted, by operators that die too.
			dieAfter(count, func() { edit(model, func() { model.Spec.ModelVersion = "2" }) }, func() bool { return len(fake.names()) == 1 && fake.names()[0] == "sentiment:2" })
			dieAfter(count, func() { Expect(k8s.Delete(suiteCtx, model)).To(Succeed()) }, gone)
			last := startOperator(operatorSettings{namespaces: []string{namespace}, backend: fake.factory})
			expectGone(model)
			last.stop()
			Expect(fake.names()).To(BeEmpty())
			fake.mu.Lock()
			fake.made = count // versions that were changed on the way count too; only the first is compared
			fake.mu.Unlock()
		}
	})
})
