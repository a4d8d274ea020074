package setup

import (
	"cmp"
	"flag"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/aimodel-operator/aimodel-operator/internal/monitoring"
)

const (
	// MonitoringAuto sets up monitoring where the cluster has the Prometheus operator's API.
	MonitoringAuto = "auto"
	// MonitoringOff leaves it to whoever installs the operator.
	MonitoringOff = "off"
)

// readMonitoring takes what whoever installs by the Operator Lifecycle Manager can say in variables only.
func (o *Options) readMonitoring(getenv func(string) string) {
	o.Monitoring = cmp.Or(getenv("MONITORING"), o.Monitoring)
	o.MonitoringLabels = getenv("MONITORING_LABELS")
	o.MonitoringTokenSecret = getenv("MONITORING_TOKEN_SECRET")
}

func (o *Options) bindMonitoring(flags *flag.FlagSet) {
	flags.StringVar(&o.Monitoring, "monitoring", o.Monitoring,
		"`auto` keeps a ServiceMonitor and a PrometheusRule for the operator where the cluster has the Prometheus operator's API, as the bundle "+
			"does; off leaves them to whoever installs it (variable MONITORING)")
	flags.StringVar(&o.MonitoringLabels, "monitoring-labels", o.MonitoringLabels,
		"`labels` of these two, such as release=prometheus, for a Prometheus that selects by them (variable MONITORING_LABELS)")
	flags.StringVar(&o.MonitoringTokenSecret, "monitoring-token-secret", o.MonitoringTokenSecret,
		"`name` of a Secret of the operator's namespace with the token that Prometheus shows; by default it shows its own "+
			"(variable MONITORING_TOKEN_SECRET)")
}

func (o *Options) validateMonitoring() error {
	if o.Monitoring != MonitoringAuto && o.Monitoring != MonitoringOff {
		return fmt.Errorf("--monitoring or MONITORING must be %s or %s, not %q", MonitoringAuto, MonitoringOff, o.Monitoring)
	}
	if _, err := o.monitoringLabels(); err != nil {
		return err
	}
	if name := o.MonitoringTokenSecret; name != "" {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			return fmt.Errorf("--monitoring-token-secret or MONITORING_TOKEN_SECRET: %q is not the name of a Secret: %s",
				name, strings.Join(problems, "; "))
		}
	}
	return nil
}

func (o *Options) monitoringLabels() (map[string]string, error) {
	found, err := labels.ConvertSelectorToLabelsMap(o.MonitoringLabels)
	if err != nil {
		return nil, fmt.Errorf("--monitoring-labels or MONITORING_LABELS: %w", err)
	}
	return found, nil
}

// addMonitoring has the operator set up its own monitoring, where it is asked to.
func addMonitoring(mgr manager.Manager, options *Options, recorder *recorder) error {
	if options.Monitoring == MonitoringOff {
		return nil
	}
	found, err := options.monitoringLabels()
	if err != nil {
		return err
	}
	return monitoring.Add(mgr, recorder, monitoring.Settings{
		Namespace: options.Namespace, Labels: found, TokenSecret: options.MonitoringTokenSecret,
	})
}
