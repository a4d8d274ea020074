package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RegistryType is the kind of server that a registry is.
// +kubebuilder:validation:Enum=MLflow;KubeflowModelRegistry;OCI;Webhook
type RegistryType string

// The known types.
const (
	RegistryMLflow   RegistryType = "MLflow"
	RegistryKubeflow RegistryType = "KubeflowModelRegistry"
	RegistryOCI      RegistryType = "OCI"
	RegistryWebhook  RegistryType = "Webhook"
)

// ModelRegistrySpec says where a registry is and how the operator proves who it is.
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type",message="spec.type cannot change: what is registered there could not be found again",fieldPath=".type"
// +kubebuilder:validation:XValidation:rule="self.type == 'MLflow' || !has(self.workspace)",message="spec.workspace needs the type MLflow",fieldPath=".workspace"
type ModelRegistrySpec struct {
	// type is the kind of server. It cannot change.
	// +required
	Type RegistryType `json:"type"`

	// url is the address of the registry, without credentials. For OCI, its path is put before the names of models. A changed
	// url has to lead to the same data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/@?#]+(/[^@?#]*)?$') && isURL(self)",message="must be an http:// or https:// URL without credentials, query or fragment"
	URL string `json:"url"`

	// auth says how the operator proves who it is. Without it, requests carry no credentials.
	// +optional
	Auth *RegistryAuth `json:"auth,omitempty"`

	// caBundle is PEM certificates to trust instead of those of the operator's image.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=65536
	CABundle string `json:"caBundle,omitempty"`

	// timeout bounds one request to the registry. 10s by default.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('5m')",message="must be from 1s to 5m"
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// workspace is the MLflow workspace that models are registered in.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Workspace string `json:"workspace,omitempty"`
}

// RegistryAuth names the Secret with credentials.
type RegistryAuth struct {
	// secretName is the name of a Secret in the namespace of the ModelRegistry. Its keys say what is used: username and password
	// (basic authentication) or token (a bearer token, which wins), tls.crt and tls.key (a client certificate), and, for a
	// webhook, signingKey (the key that signs events).
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
}

// The keys of the Secret.
const (
	SecretKeyUsername   = "username"
	SecretKeyPassword   = "password"
	SecretKeyToken      = "token"
	SecretKeyClientCert = "tls.crt"
	SecretKeyClientKey  = "tls.key"
	SecretKeySigningKey = "signingKey"
)

// ModelRegistryStatus says whether the registry can be used.
type ModelRegistryStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// registrations is the number of AIModels that use the registry.
	// +optional
	Registrations int32 `json:"registrations"`

	// conditions say whether the registry can be used and, if not, why.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Condition types of a ModelRegistry.
const (
	// ConditionReady is true while Reachable and Authorized are.
	ConditionReady = "Ready"
	// ConditionReachable says that the registry answers.
	ConditionReachable = "Reachable"
	// ConditionAuthorized says that the registry accepts the credentials.
	ConditionAuthorized = "Authorized"
	// ConditionReleased is there while the ModelRegistry is being deleted, and false while AIModels still use it.
	ConditionReleased = "Released"
)

// Reasons of the conditions of a ModelRegistry. Those of a failed check are the same as those of an AIModel's Registered.
const (
	// ReasonAnswers: the registry answered the last check.
	ReasonAnswers = "Answers"
	// ReasonAccepted: the registry accepted the credentials, or needs none.
	ReasonAccepted = "Accepted"
	// ReasonNotChecked: the registry could not be asked.
	ReasonNotChecked = "NotChecked"
	// ReasonInUse: the AIModels that the message names use the registry.
	ReasonInUse = "InUse"
)

// FinalizerInUse keeps a ModelRegistry while AIModels use it.
const FinalizerInUse = Group + "/registry-in-use"

// ModelRegistry is an external registry in which AIModels are registered.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=modelregistries,shortName=modelreg,categories=ai
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Registrations",type=integer,JSONPath=`.status.registrations`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type ModelRegistry struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the registry is.
	// +required
	Spec ModelRegistrySpec `json:"spec"`
	// status says whether it can be used.
	// +optional
	Status ModelRegistryStatus `json:"status,omitempty"`
}

// ModelRegistryList is a list of ModelRegistries.
// +kubebuilder:object:root=true
type ModelRegistryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModelRegistry `json:"items"`
}

// GetConditions returns the conditions of the object.
func (r *ModelRegistry) GetConditions() []metav1.Condition { return r.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (r *ModelRegistry) SetConditions(conditions []metav1.Condition) {
	r.Status.Conditions = conditions
}
