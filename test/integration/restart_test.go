package integration

import (
	"errors"
	"fmt"
	"sync"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// mostWrites is more than any change of one service takes.
const mostWrites = 15

var _ = describeOwnOperators("An operator that dies", func() {
	ginkgo.BeforeEach(needSimulatedPods)

	// dieAfter runs an operator on a namespace until it has sent that many writes. It returns false when it is done before.
	dieAfter := func(writesSent int, namespace string, work func(), done func() bool) bool {
		ginkgo.GinkgoHelper()
		m := &mortal{last: func(sent int, _ string) bool { return sent == writesSent }}
		o := startOperator(operatorSettings{namespaces: []string{namespace}, faults: writes(m.do)})
		work()
		Eventually(func() bool { return m.isDead() || done() }).WithTimeout(healing).Should(BeTrue())
		o.stop()
		return m.isDead()
	}

	ginkgo.It("after any write of a creation, and after any write of a change, is followed by one that ends the work", func() {
		var namespaces []string
		var services []*aiv1.InferenceService
		for sent := 1; ; sent++ {
			Expect(sent).To(BeNumerically("<", mostWrites))
			namespace := newNamespace()
			service := newService(namespace, "s", "m", withAutoscaling(3))
			namespaces, services = append(namespaces, namespace), append(services, service)
			if !dieAfter(sent, namespace, func() { create(newModel(namespace, "m"), service) }, isReady(service)) {
				break
			}
		}
		Expect(len(services)).To(BeNumerically(">", 7), "a creation takes more writes than that")
		next := startOperator(operatorSettings{namespaces: namespaces})
		for _, service := range services {
			expectReady(service)
			Expect(children(service)).To(HaveLen(5))
			Expect(recorded(service)).To(Equal(children(service)))
		}
		expectQuiet(next)
		next.stop()

		for i, service := range services {
			dieAfter(i+1, service.Namespace, func() {
				edit(service, func() { service.Spec.Autoscaling, service.Spec.Runtime.Args = nil, []string{"--new"} })
			}, isReady(service))
		}
		runOperator(operatorSettings{namespaces: namespaces})
		for _, service := range services {
			expectReady(service)
			Expect(children(service)).To(ConsistOf("Deployment/s-server", "Service/s-server", "ServiceAccount/s-server"))
			Expect(recorded(service)).To(Equal(children(service)))
			Expect(live(deploymentOf(service.Namespace, "s-server")).Spec.Template.Spec.Containers[0].Args).To(Equal([]string{"--new"}))
		}
	})

	// dieOn runs an operator until it has sent one particular write.
	dieOn := func(write, namespace string, work func()) {
		ginkgo.GinkgoHelper()
		m := &mortal{last: func(_ int, what string) bool { return what == write }}
		o := startOperator(operatorSettings{namespaces: []string{namespace}, faults: writes(m.do)})
		work()
		Eventually(m.isDead).WithTimeout(healing).Should(BeTrue())
		o.stop()
	}

	ginkgo.It("before it recorded what it created is followed by one that finds it, though the spec has changed since", func() {
		namespace := newNamespace()
		service := newService(namespace, "s", "m")
		create(newModel(namespace, "m"), service)
		first := startOperator(operatorSettings{namespaces: []string{namespace}})
		expectReady(service)
		first.stop()
		dieOn("create HorizontalPodAutoscaler", namespace, func() { edit(service, func() { withAutoscaling(3)(&service.Spec) }) })
		Expect(refresh(service)).To(Succeed())
		Expect(recorded(service)).NotTo(ContainElement("HorizontalPodAutoscaler/s-server"))
		Expect(children(service)).To(ContainElement("HorizontalPodAutoscaler/s-server"))
		edit(service, func() { service.Spec.Autoscaling = nil })

		runOperator(operatorSettings{namespaces: []string{namespace}})
		expectReady(service)
		expectGone(autoscalerOf(namespace, "s-server"), budgetOf(namespace, "s-server"))
		expectReady(service)
		Expect(recorded(service)).To(Equal(children(service)))
	})

	ginkgo.It("before it recorded what it created is followed by one that takes it away with the image", func() {
		namespace := newNamespace()
		model := newModel(namespace, "m", withImage)
		dieOn("create Deployment", namespace, func() { create(model) })
		Expect(children(model)).NotTo(BeEmpty())
		edit(model, func() { model.Spec.Image = "" })
		runOperator(operatorSettings{namespaces: []string{namespace}})
		expectReadyFor(model, aiv1.ReasonCatalogued)
		Eventually(children).WithArguments(model).Should(BeEmpty())
	})

	ginkgo.It("is followed by one that mends what happened meanwhile", func() {
		namespace := newNamespace()
		settings := operatorSettings{namespaces: []string{namespace}}
		model := newModel(namespace, "m", withImage)
		service := newService(namespace, "s", "m", withAutoscaling(3))
		gone := newService(namespace, "gone", "m")
		o := startOperator(settings)
		create(model, service, gone)
		expectReady(model, service, gone)
		o.stop()

		remove(autoscalerOf(namespace, "s-server"))
		remove(serviceOf(namespace, "m"))
		deployment := live(deploymentOf(namespace, "m"))
		edit(deployment, func() { deployment.Spec.Template.Spec.Containers[0].Image = "evil:1" })
		edit(model, func() { model.Spec.ModelVersion = "2" })
		remove(gone)
		Eventually(children).WithArguments(gone).Should(BeEmpty())

		runOperator(settings)
		expectReady(model, service)
		Expect(children(service)).To(HaveLen(5))
		Expect(children(model)).To(HaveLen(3))
		for _, name := range []string{"m", "s-server"} {
			server := live(deploymentOf(namespace, name)).Spec.Template.Spec.Containers[0]
			Expect(server.Image).To(Equal(image))
			Expect(environmentOf(server)).To(HaveKeyWithValue("MODEL_VERSION", "2"))
		}
		Expect(children(gone)).To(BeEmpty())
	})
})

func isReady(object owner) func() bool {
	return func() bool {
		Expect(refresh(object)).To(Succeed())
		ready := condition(object, aiv1.ConditionReady)
		return ready.Status == "True" && ready.ObservedGeneration == object.GetGeneration()
	}
}

// mortal lets an operator send writes until the last one, as if its process ended then.
type mortal struct {
	// last says whether a write is the last, by the number of those sent and by what it is.
	last func(sent int, what string) bool

	mu   sync.Mutex
	sent int
	dead bool
}

func (m *mortal) do(verb string, object any, request func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errors.New("the operator is dead")
	}
	err := request()
	m.sent++
	m.dead = m.last(m.sent, fmt.Sprintf("%s %s", verb, kindOf(object)))
	return err
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}
