package serving

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
	"github.com/aimodel-operator/aimodel-operator/internal/render"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

func testScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), aiv1.AddToScheme(scheme), monitoringv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// cluster is a store that can fail and counts what is written.
type cluster struct {
	client.WithWatch
	writes, statusWrites int
	// refuse makes the write of a kind fail.
	refuse map[string]error
	// beforeService is called when a Service is about to be created.
	beforeService func()
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	c := &cluster{refuse: map[string]error{}, beforeService: func() {}}
	builder := fake.NewClientBuilder().WithScheme(testScheme(t)).WithReturnManagedFields().
		WithStatusSubresource(&aiv1.AIModel{}, &aiv1.InferenceService{}).WithObjects(objects...)
	builder.WithIndex(&corev1.Pod{}, index.PodOwner, func(object client.Object) []string {
		kind, name := index.OwnerOfPod(object)
		return []string{index.PodOwnerKey(kind, name)}
	})
	c.WithWatch = interceptor.NewClient(builder.Build(), interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			c.writes++
			kind := o.GetObjectKind().GroupVersionKind().Kind
			if err := c.refuse[kind]; err != nil {
				return err
			}
			if kind == "Service" {
				c.beforeService()
			}
			return w.Create(ctx, o, opts...)
		},
		Apply: func(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			c.writes++
			return w.Apply(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			c.writes++
			return w.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, w client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			c.statusWrites++
			if err := c.refuse["status"]; err != nil {
				return err
			}
			return w.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	return c
}

func newPipeline(t *testing.T, c *cluster) *Pipeline {
	t.Helper()
	renderer, err := render.New()
	if err != nil {
		t.Fatal(err)
	}
	return NewPipeline(renderer, c, c, nil)
}

func model() *aiv1.AIModel {
	return &aiv1.AIModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama", UID: "uid-of-llama", Generation: 1},
		Spec:       aiv1.AIModelSpec{ModelName: "llama", ModelVersion: "1", Image: "server:1"},
	}
}

func scopeOf(m *aiv1.AIModel) *Scope {
	return &Scope{Owner: m, Kind: resolve.KindAIModel, ChildName: m.Name}
}

// fromSpec is the resolve step of a model without references.
func fromSpec(_ context.Context, scope *Scope) error {
	m, ok := scope.Owner.(*aiv1.AIModel)
	if !ok {
		return fmt.Errorf("%T", scope.Owner)
	}
	inputs := resolve.FromAIModel(m, nil)
	scope.Inputs = &inputs
	return nil
}

// pass is what a controller does with a pipeline.
func pass(t *testing.T, p *Pipeline, m *aiv1.AIModel) (*Scope, error) {
	t.Helper()
	scope := scopeOf(m)
	_, err := p.Run(t.Context(), scope, fromSpec)
	WriteStatus(scope)
	return scope, err
}

func condition(m *aiv1.AIModel, kind string) string {
	for _, c := range m.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}
