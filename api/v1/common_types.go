package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	// failure says why the object is not ready. It is absent while it is ready, and while it is on its way.
	// +optional
	Failure *Failure `json:"failure,omitempty"`

	// phases says how long the first pod of the current revision took to become ready. It is written once a revision.
	// +optional
	Phases *Phases `json:"phases,omitempty"`
}

// Failure is the most telling thing that keeps an object from being ready.
type Failure struct {
	// reason is the reason of the Ready condition. The page "It does not start: what now" has an entry for each.
	// +required
	Reason string `json:"reason"`
	// message says it in a sentence, with the words of whoever refused.
	// +optional
	Message string `json:"message,omitempty"`
	// object is what the failure is about: a Deployment for what happens to its pods, or a claim, a node or the like.
	// +optional
	Object *FailureObject `json:"object,omitempty"`
	// container is the container of the pods that fails.
	// +optional
	Container string `json:"container,omitempty"`
	// exitCode is how that container ended last.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// since is when this reason appeared. It stays while the reason does.
	// +required
	Since metav1.Time `json:"since"`
	// others are the reasons of what else is wrong, the most telling first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Others []string `json:"others,omitempty"`
}

// FailureObject names an object of the namespace of its owner, or a node.
type FailureObject struct {
	// kind is the kind of the object.
	// +required
	Kind string `json:"kind"`
	// name is the name of the object.
	// +required
	Name string `json:"name"`
}

// Phases is how long a pod took to become ready, in whole seconds, and where the time went.
type Phases struct {
	// revision is the revision of the Deployment that the pod belongs to, as `kubectl rollout history` counts.
	// +required
	Revision int64 `json:"revision"`
	// schedulingSeconds is the time until the pod had a node.
	// +optional
	SchedulingSeconds *int64 `json:"schedulingSeconds,omitempty"`
	// preparingSeconds is the time for volumes, network and init containers, without weightsSeconds.
	// +optional
	PreparingSeconds *int64 `json:"preparingSeconds,omitempty"`
	// weightsSeconds is the time that init containers took which write to a volume of the server's, to fetch the weights.
	// It is absent where none does: the server then loads the weights itself, in startSeconds. It is also absent when one of
	// them was started more than once, and the time is in preparingSeconds.
	// +optional
	WeightsSeconds *int64 `json:"weightsSeconds,omitempty"`
	// imagePullSeconds is the time until the server was started, most of which goes into pulling its image.
	// It is absent when the server was started more than once.
	// +optional
	ImagePullSeconds *int64 `json:"imagePullSeconds,omitempty"`
	// startSeconds is the time from the start of the server until it was ready. It loads the weights into memory meanwhile,
	// and fetches them too unless an init container did.
	// +optional
	StartSeconds *int64 `json:"startSeconds,omitempty"`
	// readySeconds is all of that time, from the creation of the pod.
	// +required
	ReadySeconds int64 `json:"readySeconds"`
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
