package metrics

import "time"

// Results of a call to a model registry.
const (
	CallOK = "ok"
	// CallNotFound: the registry says that it has no such thing.
	CallNotFound = "not_found"
	// CallRefused: the registry said no, and would say it again.
	CallRefused = "refused"
	// CallFailed: the registry failed, or did not answer; the call is worth another try.
	CallFailed = "failed"
)

var calls = newHistogram("aimodel_operator_registry_call_duration_seconds",
	"Time that calls to model registries took, by backend, operation and result.",
	[]float64{.01, .05, .2, 1, 5, 30},
	Label{Name: "backend", Bound: "the backends that are built in"},
	Label{Name: "operation", Bound: "the operations of the registry interface"},
	Label{Name: "result", Values: []string{CallOK, CallNotFound, CallRefused, CallFailed}})

// ObserveRegistryCall records one call to a model registry. The backend and the operation are names that are written in the
// code, never a URL; the result is one of those above.
func ObserveRegistryCall(backend, operation, result string, took time.Duration) {
	calls.WithLabelValues(backend, operation, result).Observe(took.Seconds())
}

var blockedCleanups = newGaugeVec("aimodel_operator_registry_cleanup_blocked",
	"AIModels whose entries in model registries could not be cleaned up when it was last tried. Their CleanedUp condition says why.")

// AddBlockedCleanups changes the number of objects that wait for the cleanup of a registry.
func AddBlockedCleanups(by int) { blockedCleanups.WithLabelValues().Add(float64(by)) }
