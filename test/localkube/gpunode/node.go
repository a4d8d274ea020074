package gpunode

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What marks the nodes that kwok plays.
const (
	TypeLabel      = "type"
	TypeKwok       = "kwok"
	kwokAnnotation = "kwok.x-k8s.io/node"
)

// DefaultTaint keeps pods that ask for no GPU off the simulated nodes when a real node could run them.
var DefaultTaint = corev1.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}

// migCapable are the products whose nodes NVIDIA's feature discovery labels as able to be cut into slices.
var migCapable = []string{"A30", "A100", "H100", "H200", "GH200", "B200", "GB200"}

// Nodes builds the objects. tainted adds DefaultTaint to nodes whose spec says nothing about taints.
func (s Spec) Nodes(tainted bool) []*corev1.Node {
	nodes := make([]*corev1.Node, 0, s.Count)
	for i := range s.Count {
		nodes = append(nodes, s.node(fmt.Sprintf("%s-%d", s.Name, i), tainted))
	}
	return nodes
}

func (s Spec) node(name string, tainted bool) *corev1.Node {
	taints := append([]corev1.Taint(nil), s.Taints...)
	if tainted && len(taints) == 0 && !s.NoTaint {
		taints = append(taints, DefaultTaint)
	}
	capacity := s.capacity()
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: s.labels(name), Annotations: map[string]string{kwokAnnotation: "fake"}},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity.DeepCopy()},
	}
}

func (s Spec) capacity() corev1.ResourceList {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              s.CPU,
		corev1.ResourceMemory:           s.RAM,
		corev1.ResourcePods:             s.Pods,
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	}
	if s.GPUs > 0 {
		capacity["nvidia.com/gpu"] = *resource.NewQuantity(int64(s.GPUs), resource.DecimalSI)
	}
	for profile, count := range s.MIG {
		capacity[corev1.ResourceName("nvidia.com/mig-"+profile)] = *resource.NewQuantity(int64(count), resource.DecimalSI)
	}
	for name, quantity := range s.Resources {
		capacity[corev1.ResourceName(name)] = quantity
	}
	return capacity
}

// labels are those that NVIDIA's GPU feature discovery writes, as far as schedulers and operators look at them.
func (s Spec) labels(name string) map[string]string {
	labels := map[string]string{
		TypeLabel:              TypeKwok,
		corev1.LabelHostname:   name,
		corev1.LabelOSStable:   "linux",
		corev1.LabelArchStable: "amd64",
	}
	if s.GPUs > 0 || len(s.MIG) > 0 {
		labels["nvidia.com/gpu.present"] = "true"
		labels["nvidia.com/gpu.product"] = s.Product
		labels["nvidia.com/gpu.count"] = strconv.Itoa(max(s.GPUs, 1))
		labels["nvidia.com/gpu.memory"] = strconv.FormatInt(s.GPUMemory.Value()>>20, 10)
		labels["nvidia.com/mig.capable"] = strconv.FormatBool(len(s.MIG) > 0 || s.capable())
	}
	if len(s.MIG) > 0 {
		labels["nvidia.com/mig.strategy"] = "mixed"
	}
	maps.Copy(labels, s.Labels)
	return labels
}

func (s Spec) capable() bool {
	for _, part := range strings.Split(s.Product, "-") {
		for _, product := range migCapable {
			if part == product {
				return true
			}
		}
	}
	return false
}
