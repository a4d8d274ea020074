package monitoringv1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceMonitor tells Prometheus which Services of its namespace to scrape.
// +kubebuilder:object:root=true
type ServiceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ServiceMonitorSpec `json:"spec"`
}

// ServiceMonitorSpec says which Services and how.
type ServiceMonitorSpec struct {
	Selector  metav1.LabelSelector `json:"selector"`
	Endpoints []Endpoint           `json:"endpoints"`
}

// Endpoint is one port and path of a Service, and what to show there.
type Endpoint struct {
	Port     string `json:"port,omitempty"`
	Scheme   string `json:"scheme,omitempty"`
	Path     string `json:"path,omitempty"`
	Interval string `json:"interval,omitempty"`
	// BearerTokenFile is a file of Prometheus' own. Not every Prometheus lets others name one.
	BearerTokenFile string         `json:"bearerTokenFile,omitempty"`
	Authorization   *Authorization `json:"authorization,omitempty"`
	TLSConfig       *TLSConfig     `json:"tlsConfig,omitempty"`
}

// Authorization is a token in a Secret of the namespace.
type Authorization struct {
	Credentials *corev1.SecretKeySelector `json:"credentials,omitempty"`
}

// TLSConfig says whose certificates are trusted.
type TLSConfig struct {
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// ServiceMonitorList is a list of ServiceMonitors.
// +kubebuilder:object:root=true
type ServiceMonitorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServiceMonitor `json:"items"`
}
