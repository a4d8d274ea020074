// Package monitoringv1 declares the fields of the kinds of monitoring.coreos.com/v1 that the operator writes: of PodMonitor
// those that the chart renders, of ServiceMonitor and PrometheusRule those of the operator's own. The API is the Prometheus
// operator's; a cluster may lack it.
//
// +kubebuilder:object:generate=true
package monitoringv1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion identifies the API.
var GroupVersion = schema.GroupVersion{Group: "monitoring.coreos.com", Version: "v1"}

// AddToScheme registers the types with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &PodMonitor{}, &PodMonitorList{}, &ServiceMonitor{}, &ServiceMonitorList{},
		&PrometheusRule{}, &PrometheusRuleList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
