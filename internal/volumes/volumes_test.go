package volumes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// pod has two volumes of the claim "weights", one of the claim "others", an empty directory and a ConfigMap.
func pod(initContainer, container []corev1.VolumeMount) *corev1.PodSpec {
	claim := func(name string, readOnly bool) corev1.VolumeSource {
		return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name, ReadOnly: readOnly}}
	}
	return &corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "first", VolumeMounts: initContainer}},
		Containers:     []corev1.Container{{Name: "second", VolumeMounts: container}},
		Volumes: []corev1.Volume{
			{Name: "read", VolumeSource: claim("weights", true)},
			{Name: "write", VolumeSource: claim("weights", false)},
			{Name: "others", VolumeSource: claim("others", false)},
			{Name: "home", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
		},
	}
}

func mounts(names ...string) []corev1.VolumeMount {
	var all []corev1.VolumeMount
	for _, name := range names {
		all = append(all, corev1.VolumeMount{Name: name})
	}
	return all
}

func TestWhatAContainerMountsAndCanWriteTo(t *testing.T) {
	weights, others, home, config := Storage{Claim: "weights"}, Storage{Claim: "others"}, Storage{Volume: "home"}, Storage{Volume: "config"}
	for name, tc := range map[string]struct {
		mounts        []corev1.VolumeMount
		want, written []Storage
	}{
		"nothing":                          {nil, nil, nil},
		"a claim":                          {mounts("others"), []Storage{others}, []Storage{others}},
		"a claim, by a read-only volume":   {mounts("read"), []Storage{weights}, nil},
		"a claim, by both of its volumes":  {mounts("read", "write"), []Storage{weights, weights}, []Storage{weights}},
		"a claim, by a read-only mount":    {[]corev1.VolumeMount{{Name: "write", ReadOnly: true}}, []Storage{weights}, nil},
		"an empty directory":               {mounts("home"), []Storage{home}, []Storage{home}},
		"what can never be written":        {mounts("config"), []Storage{config}, nil},
		"a volume that the pod has not":    {mounts("nowhere"), nil, nil},
		"several, of which one is lacking": {mounts("nowhere", "home", "others"), []Storage{home, others}, []Storage{home, others}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := pod(nil, tc.mounts)
			if diff := cmp.Diff(tc.want, Mounted(spec, &spec.Containers[0])); diff != "" {
				t.Errorf("mounted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.written, Writable(spec, &spec.Containers[0])); diff != "" {
				t.Errorf("writable (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWritableClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second []corev1.VolumeMount
		want          []string
	}{
		"none":                           {nil, mounts("home", "config", "read", "nowhere"), nil},
		"one, of an init container":      {mounts("write"), nil, []string{"weights"}},
		"one, of both":                   {mounts("write"), mounts("write"), []string{"weights"}},
		"two, in the order of the names": {mounts("write"), mounts("others"), []string{"others", "weights"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, WritableClaims(pod(tc.first, tc.second))); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}
