package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ModelProvider is where a model comes from.
// +kubebuilder:validation:Enum=HuggingFace;OpenAI;Custom
type ModelProvider string

// The known providers.
const (
	ProviderHuggingFace ModelProvider = "HuggingFace"
	ProviderOpenAI      ModelProvider = "OpenAI"
	ProviderCustom      ModelProvider = "Custom"
)

// ModelType is what a model does.
// +kubebuilder:validation:Enum=LLM;ImageGen;Sentiment;Embedding
type ModelType string

// The known model types.
const (
	TypeLLM       ModelType = "LLM"
	TypeImageGen  ModelType = "ImageGen"
	TypeSentiment ModelType = "Sentiment"
	TypeEmbedding ModelType = "Embedding"
)

// AIModelSpec says what a model is and, when it has an image, how it is served.
//
// With image, the operator runs it. With a URL as endpoint, it is a record of a model served elsewhere. With
// neither, it is an entry that InferenceServices refer to.
// +kubebuilder:validation:XValidation:rule="!(has(self.image) && has(self.endpoint) && self.endpoint.startsWith('http'))",message="spec.image cannot be set with a URL as spec.endpoint: a model is served here or elsewhere, not both",fieldPath=".endpoint"
// +kubebuilder:validation:XValidation:rule="has(self.image) || !has(self.port)",message="spec.port needs spec.image: nothing is served without it",fieldPath=".port"
// +kubebuilder:validation:XValidation:rule="has(self.image) || !has(self.healthPath)",message="spec.healthPath needs spec.image: nothing is served without it",fieldPath=".healthPath"
// +kubebuilder:validation:XValidation:rule="has(self.image) || !has(self.resources) || !(has(self.resources.requests) || has(self.resources.limits))",message="spec.resources needs spec.image: nothing is served without it",fieldPath=".resources"
type AIModelSpec struct {
	// modelName is the name by which clients and registries know the model.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ModelName string `json:"modelName"`

	// modelVersion is the version of the model. Any text.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ModelVersion string `json:"modelVersion"`

	// modelProvider is where the model comes from.
	// +optional
	ModelProvider ModelProvider `json:"modelProvider,omitempty"`

	// modelType is what the model does.
	// +optional
	ModelType ModelType `json:"modelType,omitempty"`

	// parameters is a free-form object. Every server gets it as JSON in the environment variable MODEL_PARAMETERS.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Parameters *runtime.RawExtension `json:"parameters,omitempty"`

	// source says where the weights are. Every server gets it in MODEL_SOURCE_URI and MODEL_SOURCE_REVISION;
	// a pvc:// source is mounted, read-only, and its path is in MODEL_PATH.
	// +optional
	Source *ModelSource `json:"source,omitempty"`

	// format says how the weights are stored.
	// +optional
	Format *ModelFormat `json:"format,omitempty"`

	// image is the server image of the model, with a tag or a digest. Set, the operator serves the model.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._/-]*(:[0-9]+/[a-zA-Z0-9._/-]+)?(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(@sha256:[a-f0-9]{64})?$') && (self.matches(':[A-Za-z0-9_][A-Za-z0-9_.-]*$') || self.matches('@sha256:[a-f0-9]{64}$'))",message="must be name:tag or name@sha256:digest"
	Image string `json:"image,omitempty"`

	// port is the port that the image listens on, for HTTP. The server gets it in the variable PORT. 8080 by default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// healthPath is the path that answers 200 once the model is loaded. Without it, an open port counts as ready.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/\S*$`
	HealthPath string `json:"healthPath,omitempty"`

	// replicas is the number of pods. `kubectl scale` and autoscalers write it through the scale subresource.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Replicas *int32 `json:"replicas,omitempty"`

	// endpoint is the path on which the image answers, or the http(s) URL of a model that is served elsewhere.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/') || (self.matches('^https?://[^/]+') && isURL(self))",message="must be a path that starts with '/' or an http:// or https:// URL"
	Endpoint string `json:"endpoint,omitempty"`

	// resources is what the server container asks for and may use. An extended resource among its limits, such as
	// nvidia.com/gpu, is the model's accelerator.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.claims)",message="resource claims are not supported",fieldPath=".claims"
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// credentialsRef names a Secret in the namespace of this object. A docker-config Secret is used to pull images; the
	// keys of any other become environment variables of the server.
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.name) && size(self.name) > 0",message="must have the name of a Secret",fieldPath=".name"
	CredentialsRef *corev1.SecretReference `json:"credentialsRef,omitempty"`

	// registry registers the model in an external registry. An empty object registers it in the operator's default one.
	// +optional
	Registry *Registry `json:"registry,omitempty"`
}

// AIModelStatus says what became of an AIModel.
type AIModelStatus struct {
	ServingStatus `json:",inline"`

	// inferenceURL is the address of the model inside the cluster. It is set once its Service exists.
	// +optional
	InferenceURL string `json:"inferenceURL,omitempty"`

	// modelEndpoint is the URL of a model that is served elsewhere.
	// +optional
	ModelEndpoint string `json:"modelEndpoint,omitempty"`

	// registry says what is registered in external registries.
	// +optional
	Registry *RegistryStatus `json:"registry,omitempty"`

	// conditions say whether the model is ready and, if not, why.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// AIModel is a model: an entry in the catalogue and, when it names an image, the simplest server of it.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=aimodels,shortName=aim,categories=ai
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.spec.modelName`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.modelVersion`,priority=1
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status['inferenceURL','modelEndpoint']`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type AIModel struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the model is.
	// +required
	Spec AIModelSpec `json:"spec"`
	// status says what became of it.
	// +optional
	Status AIModelStatus `json:"status,omitempty"`
}

// AIModelList is a list of AIModels.
// +kubebuilder:object:root=true
type AIModelList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []AIModel `json:"items"`
}

// GetConditions returns the conditions of the object.
func (m *AIModel) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (m *AIModel) SetConditions(conditions []metav1.Condition) { m.Status.Conditions = conditions }

// GetServingStatus returns the part of the status that both kinds share.
func (m *AIModel) GetServingStatus() *ServingStatus { return &m.Status.ServingStatus }

// StatusIsShared says whether another controller than the one that serves the model writes to its status too.
func (m *AIModel) StatusIsShared() bool { return m.Spec.Registry != nil || m.Status.Registry != nil }
