package setup

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/facts"
)

// slimPod keeps of a pod what diagnosis and ownership read.
func slimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{
		TypeMeta: pod.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         pod.Namespace,
			Name:              pod.Name,
			UID:               pod.UID,
			ResourceVersion:   pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp,
			DeletionTimestamp: pod.DeletionTimestamp,
			Labels:            keep(pod.Labels, aiv1.LabelAIModel, aiv1.LabelInferenceService, aiv1.LabelManagedBy, diagnose.TemplateHash),
			Annotations:       keep(pod.Annotations, aiv1.AnnotationOwner),
		},
		Spec: corev1.PodSpec{
			NodeName:       pod.Spec.NodeName,
			InitContainers: slimContainers(pod.Spec.InitContainers),
			Containers:     slimContainers(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Conditions:            pod.Status.Conditions,
			Reason:                pod.Status.Reason,
			Message:               pod.Status.Message,
			InitContainerStatuses: pod.Status.InitContainerStatuses,
			ContainerStatuses:     pod.Status.ContainerStatuses,
		},
	}
	if pod.Spec.NodeName == "" {
		// Only a pod that has no node yet is asked about what it wants of one.
		slim.Spec.NodeSelector, slim.Spec.Affinity, slim.Spec.Tolerations = pod.Spec.NodeSelector, nodeAffinity(pod), pod.Spec.Tolerations
		slim.Spec.Volumes, slim.Spec.Overhead = claims(pod), pod.Spec.Overhead
	}
	return slim, nil
}

func nodeAffinity(pod *corev1.Pod) *corev1.Affinity {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return &corev1.Affinity{NodeAffinity: pod.Spec.Affinity.NodeAffinity}
}

func claims(pod *corev1.Pod) []corev1.Volume {
	var slim []corev1.Volume
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			slim = append(slim, corev1.Volume{Name: pod.Spec.Volumes[i].Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}})
		}
	}
	return slim
}

func slimContainers(containers []corev1.Container) []corev1.Container {
	slim := make([]corev1.Container, len(containers))
	for i := range containers {
		slim[i] = corev1.Container{
			Name:          containers[i].Name,
			Image:         containers[i].Image,
			RestartPolicy: containers[i].RestartPolicy,
			Resources:     corev1.ResourceRequirements{Limits: containers[i].Resources.Limits, Requests: containers[i].Resources.Requests},
			StartupProbe:  slimProbe(containers[i].StartupProbe),
			LivenessProbe: slimProbe(containers[i].LivenessProbe),
		}
	}
	return slim
}

// slimProbe keeps how long a probe may fail.
func slimProbe(probe *corev1.Probe) *corev1.Probe {
	if probe == nil {
		return nil
	}
	return &corev1.Probe{
		InitialDelaySeconds: probe.InitialDelaySeconds,
		PeriodSeconds:       probe.PeriodSeconds,
		FailureThreshold:    probe.FailureThreshold,
	}
}

// slimMetadata keeps of a ReplicaSet whose it is, which revision, and by which labels it selects.
func slimMetadata(object any) (any, error) {
	set, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta: set.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       set.Namespace,
			Name:            set.Name,
			UID:             set.UID,
			ResourceVersion: set.ResourceVersion,
			Labels:          set.Labels,
			Annotations:     keep(set.Annotations, facts.RevisionAnnotation),
			OwnerReferences: set.OwnerReferences,
		},
	}, nil
}

func keep(from map[string]string, names ...string) map[string]string {
	kept := make(map[string]string, len(names))
	for _, name := range names {
		if value, ok := from[name]; ok {
			kept[name] = value
		}
	}
	return kept
}
