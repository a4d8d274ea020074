package metrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Label is a label of a metric, and what bounds its values.
type Label struct {
	Name string
	// Values are all the values there are.
	Values []string
	// Bound says what bounds the values of a label that has no list of them.
	Bound string
}

// Description is what the documentation says of a metric.
type Description struct {
	Name, Type, Help string
	Labels           []Label
}

var descriptions []Description

// Descriptions lists every metric of this package, by name.
func Descriptions() []Description {
	sorted := slices.Clone(descriptions)
	slices.SortFunc(sorted, func(a, b Description) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}

// describe remembers a metric for the documentation.
func describe(kind, name, help string, labels []Label) []string {
	descriptions = append(descriptions, Description{Name: name, Type: kind, Help: help, Labels: labels})
	names := make([]string, len(labels))
	for i := range labels {
		names[i] = labels[i].Name
	}
	return names
}

// newCounter declares and registers a counter.
func newCounter(name, help string, labels ...Label) *prometheus.CounterVec {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, describe("counter", name, help, labels))
	ctrlmetrics.Registry.MustRegister(counter)
	return counter
}

// newHistogram declares and registers a histogram.
func newHistogram(name, help string, buckets []float64, labels ...Label) *prometheus.HistogramVec {
	histogram := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets},
		describe("histogram", name, help, labels))
	ctrlmetrics.Registry.MustRegister(histogram)
	return histogram
}

// newGauge declares a gauge that a collector computes when it is asked. The collector has to be registered.
func newGauge(name, help string, labels ...Label) *prometheus.Desc {
	return prometheus.NewDesc(name, help, describe("gauge", name, help, labels), nil)
}

// newGaugeVec declares and registers a gauge that is told its value.
func newGaugeVec(name, help string, labels ...Label) *prometheus.GaugeVec {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, describe("gauge", name, help, labels))
	ctrlmetrics.Registry.MustRegister(gauge)
	return gauge
}
