package resolve

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

type amounts map[corev1.ResourceName]string

func (a amounts) list() corev1.ResourceList {
	if a == nil {
		return nil
	}
	list := corev1.ResourceList{}
	for name, amount := range a {
		list[name] = resource.MustParse(amount)
	}
	return list
}

func asks(limits, requests amounts) *corev1.ResourceRequirements {
	return &corev1.ResourceRequirements{Limits: limits.list(), Requests: requests.list()}
}

func TestAcceleratorsAmongResources(t *testing.T) {
	nvidia := func(count int32) *aiv1.Accelerator {
		return &aiv1.Accelerator{ResourceName: "nvidia.com/gpu", Count: count}
	}
	for name, tc := range map[string]struct {
		asked    *corev1.ResourceRequirements
		want     *aiv1.Accelerator
		wantRest *corev1.ResourceRequirements
	}{
		"nothing is asked for": {},
		"none are, but others": {
			asked:    asks(amounts{"cpu": "1", "hugepages-2Mi": "4Mi", "example.kubernetes.io/x": "1", "kubernetes.io/y": "2"}, nil),
			wantRest: asks(amounts{"cpu": "1", "hugepages-2Mi": "4Mi", "example.kubernetes.io/x": "1", "kubernetes.io/y": "2"}, nil),
		},
		"a limit": {
			asked: asks(amounts{"nvidia.com/gpu": "2", "cpu": "1"}, amounts{"cpu": "1"}),
			want:  nvidia(2), wantRest: asks(amounts{"cpu": "1"}, amounts{"cpu": "1"}),
		},
		"a limit and the same request": {
			asked: asks(amounts{"nvidia.com/gpu": "2"}, amounts{"nvidia.com/gpu": "2", "memory": "1Gi"}),
			want:  nvidia(2), wantRest: asks(nil, amounts{"memory": "1Gi"}),
		},
		"nothing else":    {asked: asks(amounts{"nvidia.com/gpu": "2"}, amounts{"nvidia.com/gpu": "2"}), want: nvidia(2)},
		"written oddly":   {asked: asks(amounts{"nvidia.com/gpu": "2000m"}, amounts{"nvidia.com/gpu": "2"}), want: nvidia(2)},
		"NVIDIA's first":  {asked: asks(amounts{"amd.com/gpu": "1", "nvidia.com/gpu": "2", "a.b/c": "1"}, nil), want: nvidia(2), wantRest: asks(amounts{"amd.com/gpu": "1", "a.b/c": "1"}, nil)},
		"AMD's then":      {asked: asks(amounts{"amd.com/gpu": "1", "a.b/c": "3"}, nil), want: &aiv1.Accelerator{ResourceName: "amd.com/gpu", Count: 1}, wantRest: asks(amounts{"a.b/c": "3"}, nil)},
		"others by name":  {asked: asks(amounts{"rdma/hca": "1", "gpu.intel.com/i915": "3"}, nil), want: &aiv1.Accelerator{ResourceName: "gpu.intel.com/i915", Count: 3}, wantRest: asks(amounts{"rdma/hca": "1"}, nil)},
		"none of a usual": {asked: asks(amounts{"rdma/hca": "1", "nvidia.com/gpu": "0"}, nil), want: &aiv1.Accelerator{ResourceName: "rdma/hca", Count: 1}, wantRest: asks(amounts{"nvidia.com/gpu": "0"}, nil)},

		// What follows is the API server's to refuse.
		"a request alone":      {asked: asks(nil, amounts{"nvidia.com/gpu": "1"}), wantRest: asks(nil, amounts{"nvidia.com/gpu": "1"})},
		"a request for less":   {asked: asks(amounts{"nvidia.com/gpu": "2"}, amounts{"nvidia.com/gpu": "1"}), wantRest: asks(amounts{"nvidia.com/gpu": "2"}, amounts{"nvidia.com/gpu": "1"})},
		"half an accelerator":  {asked: asks(amounts{"nvidia.com/gpu": "500m"}, nil), wantRest: asks(amounts{"nvidia.com/gpu": "500m"}, nil)},
		"less than none":       {asked: asks(amounts{"nvidia.com/gpu": "-1"}, nil), wantRest: asks(amounts{"nvidia.com/gpu": "-1"}, nil)},
		"more than is counted": {asked: asks(amounts{"nvidia.com/gpu": "5G"}, nil), wantRest: asks(amounts{"nvidia.com/gpu": "5G"}, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.asked.DeepCopy()
			got, rest := splitResources(tc.asked)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("accelerator (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantRest, rest, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("other resources (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tc.asked); diff != "" {
				t.Errorf("what was asked for changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestHoweverAcceleratorsAreAskedForTheInputsAreTheSame(t *testing.T) {
	rest := amounts{"cpu": "4"}
	named := inferenceService()
	named.Spec.Accelerator = &aiv1.Accelerator{ResourceName: "nvidia.com/gpu", Count: 2}
	named.Spec.Resources = asks(rest, nil)
	want := encode(t, FromInferenceService(named, model(), nil))

	for name, asked := range map[string]*corev1.ResourceRequirements{
		"a limit":                      asks(amounts{"cpu": "4", "nvidia.com/gpu": "2"}, nil),
		"a limit and the same request": asks(amounts{"cpu": "4", "nvidia.com/gpu": "2"}, amounts{"nvidia.com/gpu": "2"}),
	} {
		among := inferenceService()
		among.Spec.Resources = asked
		if diff := cmp.Diff(want, encode(t, FromInferenceService(among, model(), nil))); diff != "" {
			t.Errorf("%s (-named +among the resources):\n%s", name, diff)
		}
		ofModel := FromAIModel(model(func(m *aiv1.AIModel) { m.Spec.Resources = asked }), nil)
		if diff := cmp.Diff(named.Spec.Accelerator, ofModel.Accelerator); diff != "" {
			t.Errorf("%s, of a model (-want +got):\n%s", name, diff)
		}
	}
}

func TestNamedAcceleratorsAreBelieved(t *testing.T) {
	svc := inferenceService()
	svc.Spec.Accelerator = &aiv1.Accelerator{ResourceName: "nvidia.com/mig-1g.10gb", Count: 1}
	svc.Spec.Resources = asks(amounts{"rdma/hca": "1"}, nil)
	got := FromInferenceService(svc, model(), nil)
	if got.Accelerator != svc.Spec.Accelerator || got.Resources != svc.Spec.Resources {
		t.Errorf("inputs = %+v, want what the spec says", got)
	}
}

func encode(t *testing.T, in Inputs) string {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
