package metrics

import "time"

// The phases of the start of a pod. The last is all of them together.
const (
	PhaseScheduling = "scheduling"
	PhasePreparing  = "preparing"
	PhaseWeights    = "weights"
	PhaseImagePull  = "image_pull"
	PhaseStart      = "start"
	PhaseReady      = "ready"
)

var phases = newHistogram("aimodel_operator_phase_duration_seconds",
	"Time that the first pod of each revision spent in each phase of its start, by the kind of the owner. weights is that of init containers "+
		"that fetch them; without one, they are fetched in the phase start. ready is all of them together.",
	[]float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600},
	kindLabel, Label{Name: "phase", Values: []string{PhaseScheduling, PhasePreparing, PhaseWeights, PhaseImagePull, PhaseStart, PhaseReady}})

// ObservePhase records how long a phase of the start of a pod took, for an owner of that kind. Whole seconds are all that is
// known of it.
func ObservePhase(kind, phase string, took time.Duration) {
	phases.WithLabelValues(kind, phase).Observe(took.Seconds())
}
