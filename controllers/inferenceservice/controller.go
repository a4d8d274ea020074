// Package inferenceservice reconciles InferenceServices: it serves the AIModel that each refers to, with the runtime that
// it names. It orchestrates; what is rendered and how it is applied is for other packages.
package inferenceservice

import (
	"context"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/naming"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
	"github.com/aimodel-operator/aimodel-operator/internal/serving"
)

// Reconciler reconciles InferenceServices.
type Reconciler struct {
	Client   client.Client
	Resolver *resolve.Resolver
	Pipeline *serving.Pipeline
	Recorder events.EventRecorder
}

// The permissions for children are declared with the AIModel controller, which keeps the same kinds.
//
// +kubebuilder:rbac:groups=ai.example.com,resources=aimodels;inferenceservices,verbs=list;watch
// +kubebuilder:rbac:groups=ai.example.com,resources=inferenceservices/status,verbs=patch
// +kubebuilder:rbac:groups=ai.example.com,resources=inferenceservices/finalizers,verbs=update

// Reconcile brings the children of one InferenceService to what its spec and its model say, and its status to the truth
// about them.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return serving.Reconcile(ctx, r.Pipeline, r.Recorder, serving.Kind[*aiv1.InferenceService]{
		Name:        resolve.KindInferenceService,
		New:         func() *aiv1.InferenceService { return &aiv1.InferenceService{} },
		ChildName:   naming.InferenceServiceChild,
		Resolve:     r.resolve,
		WriteStatus: writeStatus,
	}, request)
}
