package integration

import (
	"os"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = describeOwnOperators("An operator that cannot reach the API server", func() {
	for name, state := range outages {
		ginkgo.It("since "+name+" catches up when it can, and touches nothing else", func() {
			quickPings()
			w, config := newWire()
			namespace := newNamespace()
			o := runOperator(operatorSettings{namespaces: []string{namespace}, config: config})
			calm := newService(namespace, "calm", "m", withAutoscaling(2))
			edited, deleted, broken := newService(namespace, "edited", "m"), newService(namespace, "deleted", "m"), newService(namespace, "broken", "m")
			create(newModel(namespace, "m"), calm, edited, deleted, broken)
			expectReady(calm, edited, deleted, broken)
			expectQuiet(o)

			w.become(state)
			edit(edited, func() { edited.Spec.Runtime.Args = []string{"--new"} })
			remove(deleted)
			remove(serviceOf(namespace, "broken-server"))
			late := newService(namespace, "late", "m")
			create(late)
			Consistently(func() []string { return children(late) }).Should(BeEmpty())
			o.requests.forget()

			w.become(whole)
			expectReady(calm, edited, broken, late)
			Expect(live(deploymentOf(namespace, "edited-server")).Spec.Template.Spec.Containers[0].Args).To(Equal([]string{"--new"}))
			Expect(children(broken)).To(ContainElement("Service/broken-server"))
			Expect(children(late)).To(HaveLen(3))
			Eventually(children).WithArguments(deleted).Should(BeEmpty())
			expectQuiet(o)
			for _, sent := range o.requests.writes() {
				Expect(sent.path).NotTo(ContainSubstring("/calm"), "nothing happened to it: %s", sent)
			}
		})
	}
})

var _ = describeOwnOperators("Two operators", func() {
	ginkgo.It("take over from one another at once when one is stopped, and write nothing twice", func() {
		namespace := newNamespace()
		settings := operatorSettings{namespaces: []string{namespace}, lease: namespace}
		first := runOperator(settings)
		model := newModel(namespace, "m", withImage)
		create(model)
		expectReady(model)
		second := runOperator(settings)
		service := newService(namespace, "s", "m")
		create(newModel(namespace, "entry"), service)
		expectReady(service)
		Expect(beyondLeases(second)).To(BeEmpty(), "the one without the lease only looks on")

		first.stop()
		late := newModel(namespace, "late", withImage)
		create(late)
		expectReady(late)
		for _, sent := range beyondLeases(second) {
			Expect(sent.method == "POST" || strings.Contains(sent.path, "/late")).To(BeTrue(), "what the first one left is as it should be: %s", sent)
		}
		Expect(second.requests.matching(func(sent request) bool {
			return sent.method == "POST" && strings.HasSuffix(sent.path, "/deployments")
		})).To(HaveLen(1))
	})

	for name, state := range outages {
		ginkgo.It("do not both work when one cannot reach the API server, since "+name, func() {
			w, config := newWire()
			namespace := newNamespace()
			settings := operatorSettings{namespaces: []string{namespace}, lease: namespace}
			cutOff := settings
			cutOff.config = config
			first := startOperator(cutOff)
			model := newModel(namespace, "m", withImage)
			create(model)
			expectReady(model)
			runOperator(settings)

			w.become(state)
			late := newModel(namespace, "late", withImage)
			create(late)
			Eventually(first.ended).WithTimeout(healing).Should(Receive(MatchError(ContainSubstring("leader election lost"))))
			Expect(children(late)).To(BeEmpty(), "the second one waits until the lease of the first has run out")
			expectReady(late, model)
		})
	}
})

// outages are the ways in which the API server cannot be reached.
var outages = map[string]wireState{
	"connections are refused":          cut,
	"connections carry nothing at all": silent,
}

// quickPings makes clients that are made in this spec notice within seconds that a connection carries nothing. By default it takes
// 45 seconds.
func quickPings() {
	ginkgo.GinkgoHelper()
	for _, name := range []string{"HTTP2_READ_IDLE_TIMEOUT_SECONDS", "HTTP2_PING_TIMEOUT_SECONDS"} {
		Expect(os.Setenv(name, "2")).To(Succeed())
		ginkgo.DeferCleanup(os.Unsetenv, name)
	}
}

// beyondLeases are the writes of an operator that have nothing to do with who works.
func beyondLeases(o *operator) []request {
	return slices.DeleteFunc(o.requests.writes(), func(sent request) bool { return strings.Contains(sent.path, "/leases") })
}
