package scale

import (
	"context"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// progress is what watches have told so far. To list everything again and again would load the API server more than the
// operator does.
type progress struct {
	mu          sync.Mutex
	deployments map[string]bool // whether it is available
	services    map[string]bool // whether it is Ready
}

// follow watches the Deployments and InferenceServices of a namespace until the test ends.
func follow(ctx context.Context, t *testing.T, kube client.WithWatch, namespace string) *progress {
	t.Helper()
	p := &progress{deployments: map[string]bool{}, services: map[string]bool{}}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &aiv1.InferenceServiceList{}} {
		watcher, err := kube.Watch(ctx, list, client.InNamespace(namespace))
		must(t, err)
		t.Cleanup(watcher.Stop)
		go func() {
			for event := range watcher.ResultChan() {
				p.note(event.Object)
			}
		}()
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
