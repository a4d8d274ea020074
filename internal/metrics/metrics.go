// Package metrics declares the operator's own metrics. They share the prefix aimodel_operator_, and their labels take few,
// known values: never the name of an object.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	renders = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "aimodel_operator_render_duration_seconds",
		Help:    "Time to render the objects of one owner, by its kind. An unchanged owner is not rendered.",
		Buckets: []float64{.0005, .001, .002, .005, .01, .05, .25},
	}, []string{"kind"})

	changes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "aimodel_operator_child_changes_total",
		Help: "Children that were created, updated, repaired or deleted, by the kind of their owner.",
	}, []string{"kind", "action"})
)

func init() { ctrlmetrics.Registry.MustRegister(renders, changes) }

// TimeRender starts to time a rendering for an owner of that kind; call what it returns at its end.
func TimeRender(kind string) func() {
	start := time.Now()
	return func() { renders.WithLabelValues(kind).Observe(time.Since(start).Seconds()) }
}

// CountChange counts one change of a child of an owner of that kind.
func CountChange(kind, action string) { changes.WithLabelValues(kind, action).Inc() }
