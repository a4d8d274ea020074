// Package volumes says what storage is behind the volumes of a pod, and which containers can write to it. It is pure, and must
// not judge whether they do.
package volumes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Storage is what is behind a volume: a claim, whichever volumes and pods mount it, or else the volume, which is the pod's own.
type Storage struct {
	Claim, Volume string
}

// Mounted is the storage that a container of the pod mounts.
func Mounted(pod *corev1.PodSpec, container *corev1.Container) []Storage {
	var all []Storage
	for i := range container.VolumeMounts {
		if storage, _ := behind(pod, container.VolumeMounts[i].Name); storage != (Storage{}) {
			all = append(all, storage)
		}
	}
	return all
}

// Writable is the storage that a container of the pod mounts and can write to.
func Writable(pod *corev1.PodSpec, container *corev1.Container) []Storage {
	var all []Storage
	for i := range container.VolumeMounts {
		mount := &container.VolumeMounts[i]
		if storage, writable := behind(pod, mount.Name); writable && !mount.ReadOnly {
			all = append(all, storage)
		}
	}
	return all
}

// WritableClaims names the claims that containers of the pod can write to, sorted.
func WritableClaims(pod *corev1.PodSpec) []string {
	var names []string
	for _, containers := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range containers {
			for _, storage := range Writable(pod, &containers[i]) {
				if storage.Claim != "" {
					names = append(names, storage.Claim)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// behind says what is behind a volume of a pod, and whether it can be written. Two volumes of one claim are the same storage:
// a server's is often read-only, so that whoever fills the claim mounts it once more. Nothing is behind a volume that the pod lacks.
func behind(pod *corev1.PodSpec, name string) (storage Storage, writable bool) {
	at := slices.IndexFunc(pod.Volumes, func(volume corev1.Volume) bool { return volume.Name == name })
	if at < 0 {
		return Storage{}, false
	}
	volume := &pod.Volumes[at]
	if claim := volume.PersistentVolumeClaim; claim != nil {
		return Storage{Claim: claim.ClaimName}, !claim.ReadOnly
	}
	given := volume.ConfigMap != nil || volume.Secret != nil || volume.Projected != nil || volume.DownwardAPI != nil || volume.Image != nil
	return Storage{Volume: name}, !given
}
