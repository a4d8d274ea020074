// Package fleet sums up every model of some namespaces: which are ready, why others are not, and how many accelerators they
// ask for and have. It reads the cluster and changes nothing.
package fleet

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/values"
)

// Fleet is every model of some namespaces.
type Fleet struct {
	Models []Model `json:"models"`
	Totals Totals  `json:"totals"`
}

// Model is one AIModel or InferenceService.
type Model struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	// Model is the AIModel that an InferenceService serves.
	Model   string `json:"model,omitempty"`
	Runtime string `json:"runtime,omitempty"`
	Ready   string `json:"ready"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	Paused  bool   `json:"paused,omitempty"`
	// Runs is false for a model that runs nothing itself.
	Runs      bool  `json:"runs"`
	Wanted    int32 `json:"wanted"`
	Available int32 `json:"available"`
	// GPUs are the accelerators.
	GPUs    GPUs      `json:"gpus"`
	URL     string    `json:"url,omitempty"`
	Created time.Time `json:"created"`
}

// GPUs are accelerators of one resource.
type GPUs struct {
	Resource string `json:"resource,omitempty"`
	// Asked is what all replicas ask for; Got is what pods on nodes hold.
	Asked int64 `json:"asked"`
	Got   int64 `json:"got"`
}

// Totals sums the models up.
type Totals struct {
	Models    int    `json:"models"`
	Ready     int    `json:"ready"`
	Wanted    int32  `json:"wanted"`
	Available int32  `json:"available"`
	GPUs      []GPUs `json:"gpus"`
}

// Gather reads the models of a namespace, or of all when it is empty.
func Gather(ctx context.Context, reader client.Reader, namespace string) (*Fleet, error) {
	models, services, pods := &aiv1.AIModelList{}, &aiv1.InferenceServiceList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{models, services} {
		if err := reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	err := reader.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{aiv1.LabelManagedBy: aiv1.ManagedBy})
	if err != nil {
		return nil, err
	}
	held := holdings(pods.Items)
	fleet := &Fleet{Models: make([]Model, 0, len(models.Items)+len(services.Items))}
	for i := range services.Items {
		fleet.Models = append(fleet.Models, ofService(&services.Items[i], held))
	}
	for i := range models.Items {
		fleet.Models = append(fleet.Models, ofModel(&models.Items[i], held))
	}
	slices.SortStableFunc(fleet.Models, func(a, b Model) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(b.Kind, a.Kind))
	})
	fleet.sum()
	return fleet, nil
}

// holding names what the pods of one object hold.
type holding struct{ namespace, owner, resource string }

// holdings counts the accelerators of the pods that have a node and still run.
func holdings(pods []corev1.Pod) map[holding]int64 {
	held := map[holding]int64{}
	for i := range pods {
		pod := &pods[i]
		kind, name := index.OwnerOfPod(pod)
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if kind == "" || pod.Spec.NodeName == "" || ended {
			continue
		}
		for _, container := range pod.Spec.Containers {
			for resource, quantity := range container.Resources.Limits {
				held[holding{pod.Namespace, index.PodOwnerKey(kind, name), string(resource)}] += quantity.Value()
			}
		}
	}
	return held
}

func ofService(svc *aiv1.InferenceService, held map[holding]int64) Model {
	m := shared(svc, svc.Status.URL)
	m.Model, m.Runtime, m.Runs = svc.Spec.ModelRef.Name, string(svc.Spec.Runtime.Name), true
	// The model itself does not matter for what is counted here.
	m.count(resolve.FromInferenceService(svc, &aiv1.AIModel{}, nil), held)
	return m
}

func ofModel(model *aiv1.AIModel, held map[holding]int64) Model {
	m := shared(model, cmp.Or(model.Status.InferenceURL, model.Status.ModelEndpoint))
	if m.Runs = model.Spec.Image != ""; m.Runs {
		m.count(resolve.FromAIModel(model, nil), held)
	}
	return m
}

func shared(object access.Object, url string) Model {
	m := Model{
		Namespace: object.GetNamespace(), Kind: access.KindOf(object), Name: object.GetName(),
		Ready: string(metav1.ConditionUnknown), Available: object.GetServingStatus().AvailableReplicas,
		Paused: object.GetAnnotations()[aiv1.AnnotationPaused] == "true",
		URL:    url, Created: object.GetCreationTimestamp().Time,
	}
	if ready := meta.FindStatusCondition(object.GetConditions(), aiv1.ConditionReady); ready != nil {
		m.Ready, m.Reason, m.Message = string(ready.Status), ready.Reason, ready.Message
	}
	return m
}

// count fills in replicas and accelerators.
func (m *Model) count(inputs resolve.Inputs, held map[holding]int64) {
	m.Wanted = inputs.Replicas
	name, each := values.Accelerators(inputs)
	if each == 0 {
		return
	}
	m.GPUs = GPUs{
		Resource: name,
		Asked:    int64(m.Wanted) * int64(each),
		Got:      held[holding{m.Namespace, index.PodOwnerKey(m.Kind, m.Name), name}],
	}
}

func (f *Fleet) sum() {
	totals := Totals{Models: len(f.Models), GPUs: []GPUs{}}
	for _, m := range f.Models {
		if m.Ready == string(metav1.ConditionTrue) {
			totals.Ready++
		}
		totals.Wanted += m.Wanted
		totals.Available += m.Available
		if m.GPUs.Resource == "" {
			continue
		}
		place := slices.IndexFunc(totals.GPUs, func(g GPUs) bool { return g.Resource == m.GPUs.Resource })
		if place < 0 {
			totals.GPUs = append(totals.GPUs, GPUs{Resource: m.GPUs.Resource})
			place = len(totals.GPUs) - 1
		}
		totals.GPUs[place].Asked += m.GPUs.Asked
		totals.GPUs[place].Got += m.GPUs.Got
	}
	slices.SortFunc(totals.GPUs, func(a, b GPUs) int { return cmp.Compare(a.Resource, b.Resource) })
	f.Totals = totals
}
