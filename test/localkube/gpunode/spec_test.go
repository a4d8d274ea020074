package gpunode

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name          string
		spec          string
		tainted       bool
		wantNames     []string
		wantResources map[corev1.ResourceName]string
		wantLabels    map[string]string
		wantTaints    int
	}{
		{
			name: "whole GPUs", spec: "name=a100,count=2,gpus=4,product=NVIDIA-A100-SXM4-80GB,memory=80Gi",
			wantNames:     []string{"a100-0", "a100-1"},
			wantResources: map[corev1.ResourceName]string{"nvidia.com/gpu": "4", "cpu": "64", "memory": "512Gi", "pods": "110"},
			wantLabels: map[string]string{"type": "kwok", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "4",
				"nvidia.com/gpu.memory": "81920", "nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": ""},
		},
		{
			name: "slices only", spec: "name=mig,mig=1g.10gb:4+3g.40gb:1", wantNames: []string{"mig-0"},
			wantResources: map[corev1.ResourceName]string{"nvidia.com/gpu": "", "nvidia.com/mig-1g.10gb": "4", "nvidia.com/mig-3g.40gb": "1"},
			wantLabels:    map[string]string{"nvidia.com/mig.strategy": "mixed", "nvidia.com/mig.capable": "true"},
		},
		{
			name: "whole GPUs beside slices", spec: "gpus=8,mig=1g.10gb:7", wantNames: []string{"gpu-0"},
			wantResources: map[corev1.ResourceName]string{"nvidia.com/gpu": "8", "nvidia.com/mig-1g.10gb": "7"},
		},
		{
			name: "no GPUs at all", spec: "name=cpu,gpus=0,cpu=8,ram=16Gi,pods=1000", wantNames: []string{"cpu-0"},
			wantResources: map[corev1.ResourceName]string{"nvidia.com/gpu": "", "cpu": "8", "memory": "16Gi", "pods": "1k"},
			wantLabels:    map[string]string{"nvidia.com/gpu.present": ""},
		},
		{
			name: "a product without MIG", spec: "product=Tesla-T4,memory=15360Mi", wantNames: []string{"gpu-0"},
			wantLabels: map[string]string{"nvidia.com/mig.capable": "false", "nvidia.com/gpu.memory": "15360"},
		},
		{
			name: "other resources and labels", spec: "resource=amd.com/gpu:2,label=zone:a", wantNames: []string{"gpu-0"},
			wantResources: map[corev1.ResourceName]string{"amd.com/gpu": "2"}, wantLabels: map[string]string{"zone": "a"},
		},
		{name: "the default taint", spec: "name=x", tainted: true, wantNames: []string{"x-0"}, wantTaints: 1},
		{name: "its own taints instead", spec: "taint=a=b:NoExecute,taint=c:NoSchedule", tainted: true, wantNames: []string{"gpu-0"}, wantTaints: 2},
		{name: "no taint in spite of the default", spec: "taint=none", tainted: true, wantNames: []string{"gpu-0"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec, err := Parse(test.spec)
			if err != nil {
				t.Fatal(err)
			}
			nodes := spec.Nodes(test.tainted)
			if len(nodes) != len(test.wantNames) {
				t.Fatalf("got %d nodes, want %d", len(nodes), len(test.wantNames))
			}
			for i, node := range nodes {
				if node.Name != test.wantNames[i] {
					t.Errorf("got node %s, want %s", node.Name, test.wantNames[i])
				}
				if len(node.Spec.Taints) != test.wantTaints {
					t.Errorf("got taints %v, want %d", node.Spec.Taints, test.wantTaints)
				}
				for name, want := range test.wantResources {
					got := ""
					if quantity, ok := node.Status.Allocatable[name]; ok {
						got = quantity.String()
					}
					if got != want {
						t.Errorf("%s: got %q, want %q", name, got, want)
					}
				}
				for label, want := range test.wantLabels {
					if got := node.Labels[label]; got != want {
						t.Errorf("label %s: got %q, want %q", label, got, want)
					}
				}
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for spec, want := range map[string]string{
		"":                     "not key=value",
		"name":                 "not key=value",
		"name=A_b":             "lowercase",
		"count=0":              "at least 1",
		"gpus=-1":              "at least 0",
		"gpus=many":            "not a number",
		"memory=lots":          "memory",
		"mig=big:1":            "PROFILE:COUNT",
		"mig=1g.10gb":          "PROFILE:COUNT",
		"taint=a:Sometimes":    "KEY[=VALUE]:EFFECT",
		"label=a":              "KEY:VALUE",
		"resource=amd.com/gpu": "NAME:QUANTITY",
		"product=a b":          "product",
		"colour=red":           "unknown key",
	} {
		if _, err := Parse(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one about %q", spec, err, want)
		}
	}
}
