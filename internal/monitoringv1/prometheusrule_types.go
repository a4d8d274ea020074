package monitoringv1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PrometheusRule holds alerts.
// +kubebuilder:object:root=true
type PrometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              PrometheusRuleSpec `json:"spec"`
}

// PrometheusRuleSpec is the content of a file of rules.
type PrometheusRuleSpec struct {
	Groups []RuleGroup `json:"groups,omitempty"`
}

// RuleGroup is a list of rules with a name.
type RuleGroup struct {
	Name  string `json:"name"`
	Rules []Rule `json:"rules,omitempty"`
}

// Rule is one alert.
type Rule struct {
	Alert       string            `json:"alert,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PrometheusRuleList is a list of PrometheusRules.
// +kubebuilder:object:root=true
type PrometheusRuleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PrometheusRule `json:"items"`
}
