package integration

import (
	"maps"
	"net/http"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = describeOwnOperators("The operator's metrics", func() {
	var namespace string
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
	})

	ginkgo.It("count what is in the cluster, after a deletion and a restart too", func() {
		settings := operatorSettings{namespaces: []string{namespace}}
		o := runOperator(settings)
		model := newModel(namespace, "m", withImage)
		other := newModel(namespace, "other", withImage)
		small := newService(namespace, "small", "m", withGPUs(2))
		large := newService(namespace, "large", "m", withGPUs(16))
		create(model, other, small, large)
		expectReady(model, other, small)
		expectReason(large, aiv1.ReasonUnschedulable)
		want := map[string]float64{
			"resources kind=AIModel ready=True reason=Ready":                             2,
			"resources kind=InferenceService ready=True reason=Ready":                    1,
			"resources kind=InferenceService ready=False reason=Unschedulable":           1,
			"replicas kind=AIModel state=asked":                                          2,
			"replicas kind=AIModel state=ready":                                          2,
			"replicas kind=AIModel state=available":                                      2,
			"replicas kind=InferenceService state=asked":                                 2,
			"replicas kind=InferenceService state=ready":                                 1,
			"replicas kind=InferenceService state=available":                             1,
			"accelerators kind=InferenceService resource=nvidia.com/gpu state=asked":     18,
			"accelerators kind=InferenceService resource=nvidia.com/gpu state=available": 2,
		}
		Eventually(fleetMetrics).Should(Equal(want))

		Expect(k8s.Delete(suiteCtx, other)).To(Succeed())
		want["resources kind=AIModel ready=True reason=Ready"] = 1
		for _, state := range []string{"asked", "ready", "available"} {
			want["replicas kind=AIModel state="+state] = 1
		}
		// What serves it goes when the cluster's garbage collector gets to it.
		Eventually(fleetMetrics).WithTimeout(healing).Should(Equal(want))

		o.stop()
		runOperator(settings)
		Eventually(fleetMetrics).Should(Equal(want))
	})

	ginkgo.It("count the writes that the API server gets, and the steps that led to them", func() {
		before := metricSamples("api_writes_total", "step_duration_seconds", "queue_oldest_seconds")
		o := runOperator(operatorSettings{namespaces: []string{namespace}})
		model := newModel(namespace, "m", withImage)
		create(model)
		expectReady(model)
		edit(model, func() { model.Spec.Image = "example.com/model:2" })
		expectReady(model)
		expectQuiet(o)

		sent := map[string]float64{}
		for _, write := range o.requests.writes() {
			sent[write.method]++
		}
		counted := map[string]float64{}
		grew := grown(before, metricSamples("api_writes_total", "step_duration_seconds", "queue_oldest_seconds"))
		methods := map[string]string{"create": http.MethodPost, "patch": http.MethodPatch, "apply": http.MethodPatch,
			"update": http.MethodPut, "delete": http.MethodDelete}
		for key, count := range grew {
			if labels, ok := strings.CutPrefix(key, "api_writes_total "); ok {
				_, verb, _ := strings.Cut(labels, "verb=")
				counted[methods[verb]] += count
			}
		}
		Expect(counted).To(Equal(sent))
		Expect(grew).To(HaveKeyWithValue("api_writes_total resource=deployments result=ok verb=create", 1.0))
		Expect(grew).To(HaveKey("api_writes_total resource=deployments result=ok verb=apply"))
		Expect(grew).To(HaveKey("api_writes_total resource=aimodels/status result=ok verb=patch"))
		Expect(grew).To(HaveKey("api_writes_total resource=events result=ok verb=create"))
		for _, step := range []string{"resolve", "render", "apply", "observe", "status"} {
			Expect(grew).To(HaveKey("step_duration_seconds kind=AIModel step=" + step))
		}
		Expect(metricSamples("queue_oldest_seconds")).To(Equal(map[string]float64{
			"queue_oldest_seconds kind=AIModel": 0, "queue_oldest_seconds kind=InferenceService": 0}))
	})
})

// fleetMetrics are those that count objects, but for the ones that are 0.
func fleetMetrics() map[string]float64 {
	samples := metricSamples("resources", "replicas", "accelerators", "cleanups_pending")
	maps.DeleteFunc(samples, func(_ string, value float64) bool { return value == 0 })
	return samples
}

// metricSamples are the values of the operator's own metrics of those names; of a histogram, how often it was observed.
func metricSamples(names ...string) map[string]float64 {
	ginkgo.GinkgoHelper()
	families, err := ctrlmetrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	found := map[string]float64{}
	for _, family := range families {
		for _, name := range names {
			if family.GetName() != "aimodel_operator_"+name {
				continue
			}
			for _, metric := range family.GetMetric() {
				key := name
				for _, label := range metric.GetLabel() {
					key += " " + label.GetName() + "=" + label.GetValue()
				}
				found[key] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return found
}

// grown is what was counted since.
func grown(before, after map[string]float64) map[string]float64 {
	grew := map[string]float64{}
	for key, value := range after {
		if value > before[key] {
			grew[key] = value - before[key]
		}
	}
	return grew
}
