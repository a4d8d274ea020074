package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// The phases of the start of a pod. The last is all of them together.
const (
	PhaseScheduling = "scheduling"
	PhasePreparing  = "preparing"
	PhaseImagePull  = "image_pull"
	PhaseLoading    = "loading"
	PhaseReady      = "ready"
)

var phases = prometheus.NewHistogramVec(prometheus.HistogramOpts{
	Name: "aimodel_operator_phase_duration_seconds",
	Help: "Time that the first pod of each revision spent in each phase of its start: scheduling, preparing, image_pull, loading, " +
		"and ready, which is all of them together. By the kind of the owner.",
	Buckets: []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600},
}, []string{"kind", "phase"})

func init() { ctrlmetrics.Registry.MustRegister(phases) }

// ObservePhase records how long a phase of the start of a pod took, for an owner of that kind. Whole seconds are all that is
// known of it.
func ObservePhase(kind, phase string, took time.Duration) {
	phases.WithLabelValues(kind, phase).Observe(took.Seconds())
}
