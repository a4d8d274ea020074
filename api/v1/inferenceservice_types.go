package v1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// RuntimeName names a runtime preset.
// +kubebuilder:validation:Enum=vllm;custom
type RuntimeName string

// The known runtimes.
const (
	// RuntimeVLLM serves a language model with vLLM, on an OpenAI-style API.
	RuntimeVLLM RuntimeName = "vllm"
	// RuntimeCustom serves a model with an image of the user's.
	RuntimeCustom RuntimeName = "custom"
)

// Runtime says which server runs. Every field but the name overrides that field of the preset.
// +kubebuilder:validation:XValidation:rule="self.name != 'custom' || has(self.image)",message="spec.runtime.image is required for the custom runtime",fieldPath=".image"
type Runtime struct {
	// name names the preset.
	// +required
	Name RuntimeName `json:"name"`

	// image is the server image, with a tag or a digest.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._/-]*(:[0-9]+/[a-zA-Z0-9._/-]+)?(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?(@sha256:[a-f0-9]{64})?$') && (self.matches(':[A-Za-z0-9_][A-Za-z0-9_.-]*$') || self.matches('@sha256:[a-f0-9]{64}$'))",message="must be name:tag or name@sha256:digest"
	Image string `json:"image,omitempty"`

	// command replaces the command of the preset.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Command []string `json:"command,omitempty"`

	// args are added after the arguments of the preset, so that they win where the server takes the last.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Args []string `json:"args,omitempty"`

	// env is added to the environment of the server and replaces variables of the same name.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Env []corev1.EnvVar `json:"env,omitempty"`

	// port is the port that the server listens on, for HTTP.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`

	// healthPath is the path that answers 200 once the model is loaded.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/\S*$`
	HealthPath string `json:"healthPath,omitempty"`
}

// Accelerator says which accelerators each replica gets.
type Accelerator struct {
	// resourceName is the extended resource that stands for one accelerator.
	// +optional
	// +kubebuilder:default="nvidia.com/gpu"
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	ResourceName string `json:"resourceName,omitempty"`

	// count is the number of accelerators of one replica.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Count int32 `json:"count,omitempty"`
}

// Autoscaling makes a HorizontalPodAutoscaler scale the object through its own scale subresource.
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",message="spec.autoscaling.minReplicas may not exceed maxReplicas",fieldPath=".minReplicas"
type Autoscaling struct {
	// minReplicas is the fewest pods. 1 by default.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the most pods.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxReplicas int32 `json:"maxReplicas"`

	// metrics says what to scale on, as in autoscaling/v2. Handed on untouched.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`

	// behavior says how fast to scale, as in autoscaling/v2. Handed on untouched.
	// +optional
	Behavior *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior,omitempty"`
}

// ModelReference names an AIModel in the namespace of the object.
type ModelReference struct {
	// name is the name of the AIModel.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// InferenceServiceSpec says which model is served, by what, on what, and how it scales.
// +kubebuilder:validation:XValidation:rule="!has(self.accelerator) || !has(self.resources) || !((has(self.resources.limits) && self.accelerator.resourceName in self.resources.limits) || (has(self.resources.requests) && self.accelerator.resourceName in self.resources.requests))",message="spec.resources may not ask for the accelerator's resource too: set it in spec.accelerator",fieldPath=".resources"
type InferenceServiceSpec struct {
	// modelRef names the AIModel that is served.
	// +required
	ModelRef ModelReference `json:"modelRef"`

	// runtime says which server serves it.
	// +required
	Runtime Runtime `json:"runtime"`

	// accelerator says which accelerators each replica gets. By default, the extended resource that resources ask for, if any.
	// +optional
	Accelerator *Accelerator `json:"accelerator,omitempty"`

	// replicas is the number of pods. `kubectl scale` and autoscalers write it through the scale subresource.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// autoscaling lets a HorizontalPodAutoscaler write replicas.
	// +optional
	Autoscaling *Autoscaling `json:"autoscaling,omitempty"`

	// resources is what the server container asks for and may use, beside the accelerators.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.claims)",message="resource claims are not supported",fieldPath=".claims"
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`

	// placement says which nodes may run the pods.
	// +optional
	Placement *Placement `json:"placement,omitempty"`

	// disruption bounds how many pods a node drain may take away at once.
	// +optional
	Disruption *Disruption `json:"disruption,omitempty"`

	// chartValues is laid over the values of the chart that renders this object, and is checked by the chart's schema.
	// See the page on charts and values.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	ChartValues *runtime.RawExtension `json:"chartValues,omitempty"`
}

// InferenceServiceStatus says what became of an InferenceService.
type InferenceServiceStatus struct {
	ServingStatus `json:",inline"`

	// url is the address of the service inside the cluster. It is set once its Service exists.
	// +optional
	URL string `json:"url,omitempty"`

	// conditions say whether the service is ready and, if not, why.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// InferenceService serves one AIModel.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=inferenceservices,shortName=infsvc,categories=ai
// +kubebuilder:printcolumn:name="Model",type=string,JSONPath=`.spec.modelRef.name`
// +kubebuilder:printcolumn:name="Runtime",type=string,JSONPath=`.spec.runtime.name`,priority=1
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.status.url`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
type InferenceService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is served and how.
	// +required
	Spec InferenceServiceSpec `json:"spec"`
	// status says what became of it.
	// +optional
	Status InferenceServiceStatus `json:"status,omitempty"`
}

// InferenceServiceList is a list of InferenceServices.
// +kubebuilder:object:root=true
type InferenceServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []InferenceService `json:"items"`
}

// GetConditions returns the conditions of the object.
func (s *InferenceService) GetConditions() []metav1.Condition { return s.Status.Conditions }

// SetConditions replaces the conditions of the object.
func (s *InferenceService) SetConditions(conditions []metav1.Condition) {
	s.Status.Conditions = conditions
}

// GetServingStatus returns the part of the status that both kinds share.
func (s *InferenceService) GetServingStatus() *ServingStatus { return &s.Status.ServingStatus }
