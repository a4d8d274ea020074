// Package monitoringv1 declares the fields of the PodMonitor of monitoring.coreos.com/v1 that the chart renders. The API
// is the Prometheus operator's; a cluster may lack it.
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

// PodMonitor tells Prometheus which pods to scrape.
// +kubebuilder:object:root=true
type PodMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              PodMonitorSpec `json:"spec"`
}

// PodMonitorSpec says which pods and how.
type PodMonitorSpec struct {
	Selector            metav1.LabelSelector `json:"selector"`
	PodMetricsEndpoints []PodMetricsEndpoint `json:"podMetricsEndpoints"`
}

// PodMetricsEndpoint is one port and path of a pod.
type PodMetricsEndpoint struct {
	Port          string `json:"port,omitempty"`
	Path          string `json:"path,omitempty"`
	Interval      string `json:"interval,omitempty"`
	ScrapeTimeout string `json:"scrapeTimeout,omitempty"`
}

// PodMonitorList is a list of PodMonitors.
// +kubebuilder:object:root=true
type PodMonitorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodMonitor `json:"items"`
}

// AddToScheme registers the types with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &PodMonitor{}, &PodMonitorList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
