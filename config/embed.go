// Package config holds what of this folder the operator installs itself, as it stands here. It must not interpret it.
package config

import _ "embed"

// ServiceMonitor says where the metrics of the operator are, as a manifest in YAML.
//
//go:embed prometheus/service_monitor.yaml
var ServiceMonitor []byte

// PrometheusRule has the alerts, as a manifest in YAML.
//
//go:embed prometheus/prometheusrule.yaml
var PrometheusRule []byte
