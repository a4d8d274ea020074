package v1

const (
	// LabelAIModel names, on every child, the AIModel that it serves. A name over 63 characters is shortened and given a hash;
	// so is one that ends like that, in a dash and ten hexadecimal digits.
	LabelAIModel = Group + "/aimodel"
	// LabelInferenceService names, on every child, the InferenceService that it belongs to. Shortened like LabelAIModel.
	LabelInferenceService = Group + "/inferenceservice"

	// LabelManagedBy is the well-known label that marks what this operator created; its caches select on it.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy and the field owner of every server-side apply.
	ManagedBy = "aimodel-operator"

	// AnnotationPaused stops the operator from changing the children of an object while it is "true".
	// Status is still kept up to date.
	AnnotationPaused = Group + "/paused"
	// AnnotationOwner carries, on a pod, the full name of the object that the pod serves: a label could not hold it.
	AnnotationOwner = Group + "/owner"
	// AnnotationApplied carries, on a child, the digest of what the operator last applied to it.
	AnnotationApplied = Group + "/applied"
)
