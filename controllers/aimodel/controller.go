// Package aimodel reconciles AIModels: it serves those that bring an image, and keeps the record of the others. It
// orchestrates; what is rendered and how it is applied is for other packages.
package aimodel

import (
	"context"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/naming"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// Reconciler reconciles AIModels.
type Reconciler struct {
	Resolver *resolve.Resolver
	Pipeline *serving.Pipeline
	Recorder events.EventRecorder
}

// +kubebuilder:rbac:groups=ai.example.com,resources=aimodels,verbs=list;watch
// +kubebuilder:rbac:groups=ai.example.com,resources=aimodels/status,verbs=patch
// +kubebuilder:rbac:groups=ai.example.com,resources=aimodels/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=serviceaccounts;services,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=podmonitors,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=events;nodes,verbs=list
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile brings the children of one AIModel to what its spec says, and its status to the truth about them.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return serving.Reconcile(ctx, r.Pipeline, r.Recorder, serving.Kind[*aiv1.AIModel]{
		Name:        resolve.KindAIModel,
		New:         func() *aiv1.AIModel { return &aiv1.AIModel{} },
		ChildName:   naming.AIModelChild,
		Resolve:     r.resolve,
		WriteStatus: writeStatus,
	}, request)
}
