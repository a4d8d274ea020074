// Package gpunode turns a short description of GPU machines into Node objects that kwok plays. It only builds objects and
// talks to no cluster.
package gpunode

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Usage describes the syntax that Parse reads, for --help texts.
const Usage = `A SPEC is a list of key=value, separated by commas:
  name=gpu          prefix of the node names: gpu-0, gpu-1, ...
  count=1           how many such nodes
  gpus=8            whole GPUs a node (nvidia.com/gpu); 0 for none; default 8, or 0 when mig is given
  product=NVIDIA-A100-SXM4-80GB
                    label nvidia.com/gpu.product
  memory=80Gi       memory of one GPU (label nvidia.com/gpu.memory, in MiB)
  mig=1g.10gb:7     MIG slices a node (nvidia.com/mig-1g.10gb: 7); several: mig=1g.10gb:4+3g.40gb:1
  cpu=64  ram=512Gi  pods=110
                    what else a node offers
  resource=NAME:N   another extended resource, such as amd.com/gpu:8 (may be repeated)
  label=KEY:VALUE   another label (may be repeated)
  taint=KEY[=VALUE]:EFFECT
                    a taint (may be repeated); taint=none asks for none at all
Example: name=a100,count=2,gpus=8,product=NVIDIA-A100-SXM4-80GB,memory=80Gi`

// Spec is what a group of equal nodes offers.
type Spec struct {
	Name    string
	Count   int
	GPUs    int
	Product string
	// GPUMemory is the memory of one GPU.
	GPUMemory resource.Quantity
	// MIG maps a profile such as 1g.10gb to the number of slices a node offers.
	MIG map[string]int
	// CPU, RAM and Pods are the node's ordinary capacity.
	CPU, RAM, Pods resource.Quantity
	// Resources are further extended resources.
	Resources map[string]resource.Quantity
	Labels    map[string]string
	Taints    []corev1.Taint
	// NoTaint says that not even the cluster's default taint is wanted.
	NoTaint bool
}

var migProfile = regexp.MustCompile(`^[1-9]g\.[0-9]+gb(\.me)?$`)

// Parse reads a SPEC; see Usage.
func Parse(text string) (Spec, error) {
	spec := Spec{
		Name: "gpu", Count: 1, GPUs: -1, Product: "NVIDIA-A100-SXM4-80GB",
		GPUMemory: resource.MustParse("80Gi"), CPU: resource.MustParse("64"), RAM: resource.MustParse("512Gi"), Pods: resource.MustParse("110"),
		MIG: map[string]int{}, Resources: map[string]resource.Quantity{}, Labels: map[string]string{},
	}
	for _, field := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(field, "=")
		if !ok || value == "" {
			return Spec{}, fmt.Errorf("node %q: %q is not key=value", text, field)
		}
		if err := spec.set(key, value); err != nil {
			return Spec{}, fmt.Errorf("node %q: %s: %w", text, key, err)
		}
	}
	if spec.GPUs < 0 {
		spec.GPUs = 8
		if len(spec.MIG) > 0 {
			spec.GPUs = 0
		}
	}
	return spec, nil
}

func (s *Spec) set(key, value string) (err error) {
	switch key {
	case "name":
		s.Name = value
		if problems := validation.IsDNS1123Subdomain(value); len(problems) > 0 {
			return fmt.Errorf("%q: %s", value, problems[0])
		}
	case "count":
		s.Count, err = number(value, 1)
	case "gpus":
		s.GPUs, err = number(value, 0)
	case "product":
		s.Product = value
		err = labelValue(value)
	case "memory":
		s.GPUMemory, err = resource.ParseQuantity(value)
	case "mig":
		err = s.setMIG(value)
	case "cpu":
		s.CPU, err = resource.ParseQuantity(value)
	case "ram":
		s.RAM, err = resource.ParseQuantity(value)
	case "pods":
		s.Pods, err = resource.ParseQuantity(value)
	case "resource":
		err = s.setResource(value)
	case "label":
		name, v, ok := strings.Cut(value, ":")
		if !ok {
			return fmt.Errorf("%q is not KEY:VALUE", value)
		}
		s.Labels[name] = v
		err = labelValue(v)
	case "taint":
		err = s.setTaint(value)
	default:
		return fmt.Errorf("unknown key; known are name, count, gpus, product, memory, mig, cpu, ram, pods, resource, label, taint")
	}
	return err
}

func (s *Spec) setMIG(value string) error {
	for _, part := range strings.Split(value, "+") {
		profile, count, ok := strings.Cut(part, ":")
		if !ok || !migProfile.MatchString(profile) {
			return fmt.Errorf("%q is not PROFILE:COUNT, such as 1g.10gb:7", part)
		}
		n, err := number(count, 1)
		if err != nil {
			return err
		}
		s.MIG[profile] = n
	}
	return nil
}

func (s *Spec) setResource(value string) error {
	name, count, ok := strings.Cut(value, ":")
	if !ok || len(validation.IsQualifiedName(name)) > 0 {
		return fmt.Errorf("%q is not NAME:QUANTITY, such as amd.com/gpu:8", value)
	}
	quantity, err := resource.ParseQuantity(count)
	s.Resources[name] = quantity
	return err
}

func (s *Spec) setTaint(text string) error {
	if text == "none" {
		s.NoTaint = true
		return nil
	}
	taint, err := ParseTaint(text)
	s.Taints = append(s.Taints, taint)
	return err
}

// ParseTaint reads KEY[=VALUE]:EFFECT.
func ParseTaint(text string) (corev1.Taint, error) {
	left, effect, ok := strings.Cut(text, ":")
	key, value, _ := strings.Cut(left, "=")
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	if !ok || !slices.Contains(effects, corev1.TaintEffect(effect)) || len(validation.IsQualifiedName(key)) > 0 {
		return corev1.Taint{}, fmt.Errorf("%q is not KEY[=VALUE]:EFFECT with an effect of %v", text, effects)
	}
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}, nil
}

func number(value string, min int) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < min {
		return 0, fmt.Errorf("%q is not a number of at least %d", value, min)
	}
	return n, nil
}

func labelValue(value string) error {
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		return fmt.Errorf("%q: %s", value, problems[0])
	}
	return nil
}
