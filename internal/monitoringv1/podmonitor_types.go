package monitoringv1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
