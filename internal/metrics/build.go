package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

var build = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: buildName, Help: buildHelp},
	describe("gauge", buildName, buildHelp, []Label{
		{Name: "version", Bound: "the one of the operator"},
		{Name: "commit", Bound: "the one that it was built from"},
		{Name: "go_version", Bound: "the one that it was built with"},
	}))

const (
	buildName = "aimodel_operator_build_info"
	buildHelp = "Always 1; the labels say what runs."
)

func init() { ctrlmetrics.Registry.MustRegister(build) }

// SetBuild says which version of the operator this is.
func SetBuild(version, commit string) {
	build.Reset()
	build.WithLabelValues(version, commit, runtime.Version()).Set(1)
}
