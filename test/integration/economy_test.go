package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = describeOwnOperators("The operator's economy", func() {
	var namespace string
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
	})

	ginkgo.It("sends nothing while nothing changes, and writes nothing after a restart", func() {
		settings := operatorSettings{namespaces: []string{namespace}}
		o := runOperator(settings)
		model := newModel(namespace, "m", withImage, withReplicas(2))
		create(model, newModel(namespace, "entry"))
		expectReady(model)
		ready := []owner{
			newService(namespace, "plain", "m"),
			newService(namespace, "gpus", "m", withGPUs(2)),
			newService(namespace, "scaled", "m", withAutoscaling(3)),
			newService(namespace, "values", "m", withValues(manyValues)),
		}
		failing := map[string]*aiv1.InferenceService{
			aiv1.ReasonUnschedulable:      newService(namespace, "too-big", "m", withGPUs(16)),
			aiv1.ReasonCrashLoop:          newService(namespace, "crash", "m", withBehavior("crash-loop")),
			aiv1.ReasonModelNotFound:      newService(namespace, "waits", "nothing"),
			aiv1.ReasonInvalidChartValues: newService(namespace, "wrong", "m", withValues("{nonsense: 1}")),
		}
		for _, object := range ready {
			create(object)
		}
		for _, object := range failing {
			create(object)
		}
		expectReady(ready...)
		for reason, object := range failing {
			expectReason(object, reason)
		}
		expectQuiet(o)

		o.requests.forget()
		heard := listen()
		Consistently(func() []request { return append(o.requests.writes(), o.requests.reads()...) }).Should(BeEmpty())
		Expect(heard()).To(BeEmpty())

		o.stop()
		heard = listen()
		o = runOperator(settings)
		Consistently(o.requests.writes).Should(BeEmpty())
		for _, line := range heard() {
			Expect(line).To(Or(HavePrefix("get "), HavePrefix("list ")), "after a restart")
		}
		expectReady(ready...)
	})

	ginkgo.It("does not read more after a restart when there are more services", func() {
		settings := operatorSettings{namespaces: []string{namespace}}
		create(newModel(namespace, "m"))
		reads := func(services int) int {
			ginkgo.GinkgoHelper()
			var owners []owner
			for i := range services {
				owners = append(owners, newService(namespace, fmt.Sprintf("s%d-of-%d", i, services), "m", withAutoscaling(2)))
				create(owners[i])
			}
			first := runOperator(settings)
			expectReady(owners...)
			expectQuiet(first)
			first.stop()
			second := runOperator(settings)
			Consistently(second.requests.writes).WithTimeout(atOnce).Should(BeEmpty())
			second.stop()
			return len(second.requests.reads())
		}
		few := reads(2)
		Expect(reads(10)).To(Equal(few), "reads after a restart with 12 services, and with 2")
	})

	ginkgo.It("needs no more than three writes beside those of the children", func() {
		o := runOperator(operatorSettings{namespaces: []string{namespace}})
		model := newModel(namespace, "m", withImage)
		create(model)
		expectReady(model)
		expectQuiet(o)
		expectWrites(o, model)
		for _, service := range []*aiv1.InferenceService{
			newService(namespace, "plain", "m", withGPUs(1)),
			newService(namespace, "scaled", "m", withGPUs(1), withAutoscaling(2)),
		} {
			o.requests.forget()
			heard := listen()
			create(service)
			expectReady(service)
			expectQuiet(o)
			expectWrites(o, service)
			if kube.AuditLog != "" {
				Expect(heard()).To(HaveLen(len(o.requests.writes())), "the API server and the operator count differently")
			}
		}
	})

	ginkgo.It("renders and writes nothing for what does not matter to it", func() {
		o := runOperator(operatorSettings{namespaces: []string{namespace}})
		model := newModel(namespace, "m", withImage)
		service := newService(namespace, "s", "m")
		create(model, service)
		expectReady(model, service)
		expectQuiet(o)
		o.requests.forget()
		edit(model, func() { model.Labels = map[string]string{"team": "a"} })
		edit(service, func() { service.Annotations = map[string]string{"note": "x"} })
		deployment := live(deploymentOf(namespace, "s-server"))
		edit(deployment, func() { deployment.Annotations["note"] = "x" })
		Consistently(o.requests.writes).WithTimeout(atOnce).Should(BeEmpty())
		Expect(o.requests.reads()).To(BeEmpty())
	})
})

// manyValues fills fields that the API server stores in another form than they are written in, or fills up by itself.
const manyValues = `
resources: {limits: {cpu: 1500m, memory: 1024Mi}, requests: {cpu: "1.5"}}
extraVolumes: [{name: cache, emptyDir: {}}, {name: settings, configMap: {name: c, optional: true}}]
extraVolumeMounts: [{name: cache, mountPath: /cache}]
initContainers: [{name: first, image: "a:1", resources: {}}]
tolerations: [{key: a, operator: Exists}]
env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, {name: EMPTY, value: ""}]
topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway}]
service: {annotations: {a: ""}}
`

// expectQuiet waits until the operator has said everything, events included.
func expectQuiet(o *operator) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		before := len(o.requests.matching(func(request) bool { return true }))
		g.Consistently(func() int { return len(o.requests.matching(func(request) bool { return true })) }).
			WithTimeout(atOnce).Should(Equal(before))
	}).WithTimeout(healing).Should(Succeed())
}

// expectWrites holds that an owner that was just created has cost no more than its children and three writes.
func expectWrites(o *operator, of owner) {
	ginkgo.GinkgoHelper()
	writes := o.requests.writes()
	Expect(len(writes)).To(BeNumerically("<=", len(children(of))+3), fmt.Sprint(writes))
}

// listen tells, when called again, which requests of the operator the API server has recorded since. Without an audit log it
// hears nothing.
func listen() func() []string {
	ginkgo.GinkgoHelper()
	if kube.AuditLog == "" {
		ginkgo.GinkgoWriter.Println("SKIPPED: this cluster keeps no audit log, so only the operator's own count is checked")
		return func() []string { return nil }
	}
	log, err := os.Open(kube.AuditLog)
	Expect(err).NotTo(HaveOccurred())
	ginkgo.DeferCleanup(log.Close)
	_, err = log.Seek(0, io.SeekEnd)
	Expect(err).NotTo(HaveOccurred())
	return func() []string {
		ginkgo.GinkgoHelper()
		var heard []string
		lines := bufio.NewScanner(log)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var event struct{ Verb, UserAgent, RequestURI string }
			Expect(json.Unmarshal(lines.Bytes(), &event)).To(Succeed())
			if event.UserAgent == aiv1.ManagedBy && event.Verb != "watch" {
				heard = append(heard, event.Verb+" "+event.RequestURI)
			}
		}
		Expect(lines.Err()).NotTo(HaveOccurred())
		return heard
	}
}
