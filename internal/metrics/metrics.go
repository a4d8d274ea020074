// Package metrics declares the operator's own metrics. They share the prefix aimodel_operator_, and their labels take few,
// known values: never the name of an object, of a namespace or of a model. The package must not read anything but the cache.
//
// A metric is declared with newCounter or newHistogram, which also put it on the page docs/metrics.md.
package metrics

import (
	"time"
)

// Kinds are the kinds of owners, as the label kind names them.
func Kinds() []string { return []string{"AIModel", "InferenceService"} }

// kindLabel is the kind of an owner.
var kindLabel = Label{Name: "kind", Values: Kinds()}

// The steps of a reconcile.
const (
	StepResolve = "resolve"
	StepRender  = "render"
	StepApply   = "apply"
	StepObserve = "observe"
	StepStatus  = "status"
)

// ErrorClass says what is done about an error.
type ErrorClass string

// The classes.
const (
	// Terminal errors wait for a change of the object.
	Terminal ErrorClass = "terminal"
	// Waiting errors wait for a cure elsewhere.
	Waiting ErrorClass = "waiting"
	// Transient errors are tried again with backoff.
	Transient ErrorClass = "transient"
)

var (
	renders = newHistogram("aimodel_operator_render_duration_seconds",
		"Time to render the objects of one owner, by its kind. An unchanged owner is not rendered.",
		[]float64{.0005, .001, .002, .005, .01, .05, .25}, kindLabel)

	steps = newHistogram("aimodel_operator_step_duration_seconds",
		"Time that one step of a reconcile took, by the kind of the owner.",
		[]float64{.0001, .0005, .002, .01, .05, .25, 1, 5, 30},
		kindLabel, Label{Name: "step", Values: []string{StepResolve, StepRender, StepApply, StepObserve, StepStatus}})

	failures = newCounter("aimodel_operator_reconcile_errors_total",
		"Reconciles that ended with an error, by what is done about it: terminal errors wait for a change of the object, "+
			"waiting ones for a cure elsewhere, transient ones are tried again with backoff.",
		kindLabel, Label{Name: "class", Values: []string{string(Terminal), string(Waiting), string(Transient)}})

	changes = newCounter("aimodel_operator_child_changes_total",
		"Children that were created, updated, repaired or deleted, by the kind of their owner.",
		kindLabel, Label{Name: "action", Values: []string{"Created", "Updated", "Repaired", "Deleted"}})
)

// TimeRender starts to time a rendering for an owner of that kind; call what it returns at its end.
func TimeRender(kind string) func() {
	start := time.Now()
	return func() { renders.WithLabelValues(kind).Observe(time.Since(start).Seconds()) }
}

// ObserveStep records how long a step of a reconcile took.
func ObserveStep(kind, step string, took time.Duration) {
	steps.WithLabelValues(kind, step).Observe(took.Seconds())
}

// CountError counts a reconcile of an owner of that kind that ended with an error of that class.
func CountError(kind string, class ErrorClass) { failures.WithLabelValues(kind, string(class)).Inc() }

// CountChange counts one change of a child of an owner of that kind.
func CountChange(kind, action string) { changes.WithLabelValues(kind, action).Inc() }
