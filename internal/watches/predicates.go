package watches

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

// Primary passes what changes the work to do for an object: its spec, its deletion and the annotations that the operator
// reads. Its status, which the operator itself writes, does not count, but for what another controller writes and Ready depends on.
func Primary() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetAnnotations()[aiv1.AnnotationPaused] != e.ObjectNew.GetAnnotations()[aiv1.AnnotationPaused] ||
				registeredMoved(e.ObjectOld, e.ObjectNew)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// registeredMoved compares the registration of a model that is ready only once it is registered.
func registeredMoved(before, after client.Object) bool {
	was, isOld := before.(*aiv1.AIModel)
	is, isNew := after.(*aiv1.AIModel)
	if !isOld || !isNew || is.Spec.Registry == nil || !is.Spec.Registry.Required {
		return false
	}
	a := meta.FindStatusCondition(was.Status.Conditions, aiv1.ConditionRegistered)
	b := meta.FindStatusCondition(is.Status.Conditions, aiv1.ConditionRegistered)
	return (a == nil) != (b == nil) || a != nil && (a.Status != b.Status || a.Reason != b.Reason || a.Message != b.Message)
}

// Child passes changes of a child that the operator has to mend or to report. A child that was there when the cache was
// filled is left out, because its owner is looked at then anyway.
func Child() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc:  func(e event.UpdateEvent) bool { return childChanged(e.ObjectOld, e.ObjectNew) },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func childChanged(before, after client.Object) bool {
	if !maps.Equal(before.GetLabels(), after.GetLabels()) || !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) ||
		before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) {
		return true
	}
	switch was := before.(type) {
	case *appsv1.Deployment:
		is, ok := after.(*appsv1.Deployment)
		return !ok || was.Generation != is.Generation || deploymentMoved(was, is)
	case *corev1.Service:
		is, ok := after.(*corev1.Service)
		return !ok || !equality.Semantic.DeepEqual(was.Spec, is.Spec)
	case *autoscalingv2.HorizontalPodAutoscaler:
		// Its generation moves from Kubernetes 1.37 on only.
		is, ok := after.(*autoscalingv2.HorizontalPodAutoscaler)
		return !ok || !equality.Semantic.DeepEqual(was.Spec, is.Spec) || autoscalerMoved(was, is)
	case *corev1.ServiceAccount:
		is, ok := after.(*corev1.ServiceAccount)
		return !ok || !equality.Semantic.DeepEqual(was.AutomountServiceAccountToken, is.AutomountServiceAccountToken)
	default:
		return before.GetGeneration() != after.GetGeneration()
	}
}

// deploymentMoved compares what status reports of a Deployment. The times in its conditions change with every pod, and
// are left out.
func deploymentMoved(before, after *appsv1.Deployment) bool {
	was, is := before.Status, after.Status
	if was.ObservedGeneration != is.ObservedGeneration || was.Replicas != is.Replicas || was.UpdatedReplicas != is.UpdatedReplicas ||
		was.ReadyReplicas != is.ReadyReplicas || was.AvailableReplicas != is.AvailableReplicas || len(was.Conditions) != len(is.Conditions) {
		return true
	}
	for i := range was.Conditions {
		a, b := was.Conditions[i], is.Conditions[i]
		if a.Type != b.Type || a.Status != b.Status || a.Reason != b.Reason {
			return true
		}
	}
	return false
}

// autoscalerMoved compares what status reports of an autoscaler. Its counts are reported by the owner itself.
func autoscalerMoved(before, after *autoscalingv2.HorizontalPodAutoscaler) bool {
	was, is := before.Status.Conditions, after.Status.Conditions
	if len(was) != len(is) {
		return true
	}
	for i := range was {
		if was[i].Type != is[i].Type || was[i].Status != is[i].Status || was[i].Reason != is[i].Reason {
			return true
		}
	}
	return false
}

// Pod passes a change of what a pod tells about itself. Whether it is ready is not among that: its Deployment tells.
func Pod() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList && finding(e.Object) != nil },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return !finding(e.ObjectOld).Same(finding(e.ObjectNew))
		},
		DeleteFunc:  func(e event.DeleteEvent) bool { return finding(e.Object) != nil },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func finding(object client.Object) *diagnose.Finding {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil
	}
	return diagnose.Pod(pod)
}

// Model passes changes of an AIModel that matter to the services that refer to it: that it came or went, what it
// says, and whether its references resolve.
func Model() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, isOld := e.ObjectOld.(*aiv1.AIModel)
			is, isNew := e.ObjectNew.(*aiv1.AIModel)
			if !isOld || !isNew || was.Generation != is.Generation {
				return true
			}
			return !equality.Semantic.DeepEqual(
				meta.FindStatusCondition(was.Status.Conditions, aiv1.ConditionResolved),
				meta.FindStatusCondition(is.Status.Conditions, aiv1.ConditionResolved))
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
