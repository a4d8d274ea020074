package resolve

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// Inputs is everything that the rendering of one object depends on, with every reference followed. It holds no
// secret content and nothing that changes by itself, so that equal Inputs give equal objects.
type Inputs struct {
	Owner Owner
	Model Model
	// Runtime is the server. Its Name is "custom" for an AIModel that brings its own image.
	Runtime aiv1.Runtime

	Replicas int32
	// Accelerator is what the spec names as such, or else what its resources ask for. Nil when there is none.
	Accelerator *aiv1.Accelerator
	Autoscaling *aiv1.Autoscaling
	// Resources are those beside the accelerators.
	Resources   *corev1.ResourceRequirements
	Placement   *aiv1.Placement
	Disruption  *aiv1.Disruption
	Credentials *Credentials
	// ReplaceInPlace lets an old replica make room before its successor starts, because there is no accelerator for both.
	ReplaceInPlace bool
	// ChartValues is the user's overlay on the chart's values, as JSON. Nil when there is none.
	ChartValues json.RawMessage
	// Site is what holds for all objects.
	Site Site
}

// Site is what whoever installed the operator says about the place it runs in. It is the same for all objects.
type Site struct {
	// Proxy is what leads out of the cluster.
	Proxy Proxy
	// RuntimeImages are images to use in place of those of the presets, by the name of the runtime.
	RuntimeImages map[string]string
}

// Proxy is what downloads go through. None of it holds a password.
type Proxy struct {
	// HTTP and HTTPS are the addresses of the proxies for either. Both are empty where there is none.
	HTTP, HTTPS string
	// No lists, separated by commas, what is reached without them.
	No string
}

// Owner identifies the object that is rendered.
type Owner struct {
	// Kind is AIModel or InferenceService.
	Kind string
	// Namespace and Name are the object's own.
	Namespace, Name string
	// ChildName is the name of its children, from package naming.
	ChildName string
	// ModelObject is the name of the AIModel that is served: Name itself for an AIModel.
	ModelObject string
}

// Model is what an AIModel says about the model.
type Model struct {
	Name, Version, Provider, Type string
	// Parameters is a JSON object. Nil when there is none.
	Parameters json.RawMessage
	Source     *aiv1.ModelSource
	Format     *aiv1.ModelFormat
	// Path is the path on which the model answers, from spec.endpoint. Empty when it has none.
	Path string
}

// Credentials is what may be known about the Secret named by credentialsRef.
type Credentials struct {
	// SecretName is its name, in the namespace of the owner.
	SecretName string
	// ImagePull is true for a docker-config Secret: it pulls images and is shown to no container.
	ImagePull bool
	// Keys are the names of its keys, sorted. Never their values.
	Keys []string
}
