package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ServingStatus is what both kinds report about the pods that serve them.
type ServingStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of pods that exist, ready or not. The scale subresource reads it.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of pods that pass their readiness probe.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// availableReplicas is the number of pods that are ready and take traffic.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// selector is the label selector of the pods, as text. The scale subresource reads it.
	// +optional
	Selector string `json:"selector,omitempty"`

	// inventory lists the objects that the operator keeps for this one.
	// What is in it and no longer rendered is deleted.
	// +optional
	// +listType=atomic
	Inventory []InventoryEntry `json:"inventory,omitempty"`
}

// InventoryEntry names one object that the operator created in the namespace of its owner.
type InventoryEntry struct {
	// apiVersion is the group and version of the object.
	// +required
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the object.
	// +required
	Kind string `json:"kind"`
	// name is the name of the object.
	// +required
	Name string `json:"name"`
}

// ModelSource says where a model's weights are.
type ModelSource struct {
	// uri is the address of the weights: hf://ORG/MODEL, s3://, gs://, oci://, pvc://CLAIM/PATH or https://.
	// A runtime that cannot read a scheme says so in the Resolved condition.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^(hf|s3|gs|oci|pvc|https)://[^/ ]+.*$')",message="must be an hf://, s3://, gs://, oci://, pvc:// or https:// address"
	URI string `json:"uri"`

	// revision is the branch, tag or commit of the weights, for sources that have revisions.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Revision string `json:"revision,omitempty"`
}

// ModelFormat says how a model's weights are stored.
type ModelFormat struct {
	// name is the name of the format, such as safetensors, gguf, onnx, tensorflow or pytorch.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Name string `json:"name"`

	// version is the version of the format.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version,omitempty"`
}

// Placement says which nodes may run the pods. Each field is handed to the pods as it is.
type Placement struct {
	// nodeSelector lists labels that a node must have.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations lists taints that the pods bear. A taint named like the accelerator's resource is always borne.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity attracts the pods to, or keeps them from, nodes and other pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints spreads the pods over zones or nodes. A constraint without a labelSelector
	// selects the pods of this object.
	// +optional
	// +listType=atomic
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName names the priority class of the pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// Disruption bounds how many pods a node drain may take away at once. Without it, at most one, wherever more
// than one replica can run.
// +kubebuilder:validation:XValidation:rule="has(self.minAvailable) != has(self.maxUnavailable)",message="set exactly one of minAvailable and maxUnavailable"
type Disruption struct {
	// minAvailable is the number, or the percentage, of pods that stay.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a number of pods or a percentage"
	MinAvailable *intstr.IntOrString `json:"minAvailable,omitempty"`

	// maxUnavailable is the number, or the percentage, of pods that may go.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a number of pods or a percentage"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}
