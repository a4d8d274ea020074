package scale

import (
	"context"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/test/cluster"
)

// progress is what watches have told so far. To list everything again and again would load the API server more than the
// operator does.
type progress struct {
	mu          sync.Mutex
	deployments map[string]bool // whether it is available
	services    map[string]bool // whether it is Ready
}

// follow watches the Deployments and InferenceServices of a namespace until the test ends. A cache does it, because the API server
// ends a watch that falls behind, as some do when hundreds of services come at once, and a cache begins another.
func follow(ctx context.Context, t *testing.T, c *cluster.Cluster, scheme *runtime.Scheme, namespace string) *progress {
	t.Helper()
	p := &progress{deployments: map[string]bool{}, services: map[string]bool{}}
	watched, err := cache.New(c.Config, cache.Options{Scheme: scheme, DefaultNamespaces: map[string]cache.Config{namespace: {}}})
	must(t, err)
	ended := make(chan error)
	ctx, stop := context.WithCancel(ctx)
	go func() { ended <- watched.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		must(t, <-ended)
	})
	for _, object := range []client.Object{&appsv1.Deployment{}, &aiv1.InferenceService{}} {
		informer, err := watched.GetInformer(ctx, object)
		must(t, err)
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    p.note,
			UpdateFunc: func(_, is any) { p.note(is) },
		})
		must(t, err)
	}
	return p
}

func (p *progress) note(object any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch o := object.(type) {
	case *appsv1.Deployment:
		p.deployments[o.Name] = o.Status.AvailableReplicas > 0
	case *aiv1.InferenceService:
		p.services[o.Name] = meta.IsStatusConditionTrue(o.Status.Conditions, aiv1.ConditionReady)
	}
}

func (p *progress) exist() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.deployments)
}

func (p *progress) available() int { return p.count(p.deployments) }

func (p *progress) ready() int { return p.count(p.services) }

func (p *progress) count(states map[string]bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	total := 0
	for _, good := range states {
		if good {
			total++
		}
	}
	return total
}
