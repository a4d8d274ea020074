package watches

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
)

// ChildTypes lists one object of every kind that charts render. The cache holds those that carry the operator's label.
func ChildTypes() []client.Object {
	return []client.Object{
		&corev1.ServiceAccount{},
		&appsv1.Deployment{},
		&corev1.Service{},
		&policyv1.PodDisruptionBudget{},
		&autoscalingv2.HorizontalPodAutoscaler{},
	}
}

// OptionalChildTypes lists one object of every kind that charts render and that a cluster may lack.
func OptionalChildTypes() []client.Object {
	return []client.Object{&monitoringv1.PodMonitor{}}
}

// Owners makes a controller watch its own kind.
func Owners(b *builder.Builder, object client.Object) *builder.Builder {
	predicates := builder.WithPredicates(Primary())
	return b.For(object, predicates).Watches(object, pending(), predicates)
}

// Children makes a controller of the given kind watch its children and their pods.
func Children(b *builder.Builder, kind string) *builder.Builder {
	for _, child := range ChildTypes() {
		b = b.Watches(child, ToOwner(kind), builder.WithPredicates(Child()))
	}
	return b.Watches(&corev1.Pod{}, PodToOwner(kind), builder.WithPredicates(Pod()))
}
