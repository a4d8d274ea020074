package diagnose

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Facts is what a diagnosis is made from. Only the pods are needed; whatever else is missing makes it say less.
type Facts struct {
	// Now decides what has lasted for too long. Zero leaves out whatever depends on time.
	Now time.Time
	// Deployment is what the pods belong to.
	Deployment *appsv1.Deployment
	// Revision is the pod-template-hash of the Deployment's current revision. Pods of another are not told of. Empty: not
	// known, so all of them count.
	Revision string
	// Pods are those of the Deployment, of whatever revision.
	Pods []corev1.Pod
	// Events has the events about pods, and about claims, by the UID of what they are about.
	Events map[types.UID][]Event
	// Claims has the claims that pods mount, by name.
	Claims map[string]Claim
	// Nodes are all nodes of the cluster. Nil: not known.
	Nodes []Node
	// Jobs are those of the namespace that can write to claims. Nil: not known.
	Jobs []Job
	// Autoscaler is what scales the owner of the Deployment.
	Autoscaler *autoscalingv2.HorizontalPodAutoscaler
}

// Event is what is read of an event.
type Event struct {
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count,omitempty"`
	Last    time.Time `json:"last,omitempty"`
}

// Claim is what is read of a PersistentVolumeClaim.
type Claim struct {
	// Missing says that there is none of that name.
	Missing bool                              `json:"missing,omitempty"`
	UID     types.UID                         `json:"uid,omitempty"`
	Phase   corev1.PersistentVolumeClaimPhase `json:"phase,omitempty"`
	// StorageClass is empty when the claim names none.
	StorageClass string `json:"storageClass,omitempty"`
}

// JobState is what became of a Job.
type JobState string

// The states of Jobs.
const (
	JobUnfinished JobState = "Unfinished"
	JobSuspended  JobState = "Suspended"
	JobComplete   JobState = "Complete"
	JobFailed     JobState = "Failed"
)

// Job is what is read of a Job whose pods can write to claims.
type Job struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid,omitempty"`
	// Writes names the claims that its pods can write to.
	Writes  []string  `json:"writes"`
	Created time.Time `json:"created"`
	State   JobState  `json:"state"`
	// Finished is when it was complete, or had failed.
	Finished time.Time `json:"finished,omitzero"`
	// Reason and Message say why it failed.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// ActivePods and FailedPods change all the time, so that no diagnosis that is kept may tell them.
	ActivePods int32 `json:"activePods,omitempty"`
	FailedPods int32 `json:"failedPods,omitempty"`
}

// Node is what is read of a Node.
type Node struct {
	Name        string              `json:"name"`
	Labels      map[string]string   `json:"labels,omitempty"`
	Taints      []corev1.Taint      `json:"taints,omitempty"`
	Ready       bool                `json:"ready,omitempty"`
	Capacity    corev1.ResourceList `json:"capacity,omitempty"`
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// Free is what no pod on it has asked for. Nil: not known. It changes all the time, so that no diagnosis that is kept may
	// know it.
	Free corev1.ResourceList `json:"free,omitempty"`
}

// TemplateHash is the label by which the Deployment controller tells the pods of one revision from those of another.
const TemplateHash = appsv1.DefaultDeploymentUniqueLabelKey

// isCurrent says whether a pod is of the revision that is asked for.
func (f *Facts) isCurrent(pod *corev1.Pod) bool {
	return f.Revision == "" || pod.Labels[TemplateHash] == f.Revision
}

// lasted says whether something began at least that long ago.
func (f *Facts) lasted(since time.Time, atLeast time.Duration) bool {
	return !f.Now.IsZero() && !since.IsZero() && f.Now.Sub(since) >= atLeast
}

// recent says whether something happened so lately that it tells about now. What has no time may be told.
func (f *Facts) recent(at time.Time) bool {
	return f.Now.IsZero() || at.IsZero() || f.Now.Sub(at) <= memory
}
