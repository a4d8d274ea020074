package integration

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var (
	errTimeout  = apierrors.NewTimeoutError("the server was too slow", 0)
	errInternal = apierrors.NewInternalError(fmt.Errorf("etcd is not well"))
	errConflict = apierrors.NewConflict(schema.GroupResource{Resource: "things"}, "it", fmt.Errorf("it has been changed"))
)

var _ = describeOwnOperators("Faults", func() {
	var namespace string
	var model *aiv1.AIModel
	var service *aiv1.InferenceService
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
		model = newModel(namespace, "m", withImage, withReplicas(2))
		service = newService(namespace, "s", "m", withAutoscaling(3))
	})

	// whole holds that everything is there, once, and that status knows it.
	whole := func() {
		ginkgo.GinkgoHelper()
		expectReady(model, service)
		Expect(children(model)).To(ConsistOf("Deployment/m", "Service/m", "ServiceAccount/m", "PodDisruptionBudget/m"))
		Expect(children(service)).To(ConsistOf("Deployment/s-server", "Service/s-server", "ServiceAccount/s-server",
			"PodDisruptionBudget/s-server", "HorizontalPodAutoscaler/s-server"))
		for _, object := range []owner{model, service} {
			Expect(recorded(object)).To(Equal(children(object)))
			expectConsistent(object)
		}
		expectPods(namespace, model.Status.Selector, 2)
		expectPods(namespace, service.Status.Selector, 1)
	}
	// change makes every kind of later write happen: apply, the patch before the first one, and delete.
	change := func() {
		ginkgo.GinkgoHelper()
		edit(model, func() { model.Spec.ModelVersion, model.Spec.Replicas = "2", new(int32) })
		edit(service, func() { service.Spec.Autoscaling = nil })
		expectReadyFor(model, aiv1.ReasonScaledToZero)
		expectReady(service)
		Expect(children(model)).To(ConsistOf("Deployment/m", "Service/m", "ServiceAccount/m"))
		Expect(children(service)).To(ConsistOf("Deployment/s-server", "Service/s-server", "ServiceAccount/s-server"))
		Eventually(func(g Gomega) {
			for _, object := range []owner{model, service} {
				g.Expect(refresh(object)).To(Succeed())
				g.Expect(recorded(object)).To(Equal(children(object)))
			}
		}).Should(Succeed())
		Expect(environmentOf(live(deploymentOf(namespace, "s-server")).Spec.Template.Spec.Containers[0])).To(HaveKeyWithValue("MODEL_VERSION", "2"))
	}

	for _, fault := range []error{errTimeout, errInternal, errConflict} {
		ginkgo.It("of every write, once each, are overcome: "+fault.Error(), func() {
			once := newOnce(fault)
			runOperator(operatorSettings{namespaces: []string{namespace}, faults: writes(once.do)})
			create(model, service)
			whole()
			change()
			once.expectMet("create ServiceAccount", "create Service", "create Deployment", "create PodDisruptionBudget",
				"create HorizontalPodAutoscaler", "apply Deployment", "patch Deployment", "delete PodDisruptionBudget",
				"delete HorizontalPodAutoscaler", "status AIModel", "status InferenceService")
		})
	}

	ginkgo.It("of every write after it was done, once each, are overcome", func() {
		once := newOnce(errTimeout)
		once.afterwards = true
		runOperator(operatorSettings{namespaces: []string{namespace}, faults: writes(once.do)})
		create(model, service)
		whole()
		change()
	})

	ginkgo.It("of every read of the cache, once each, are overcome", func() {
		once := newOnce(errInternal)
		runOperator(operatorSettings{namespaces: []string{namespace}, faults: interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				return once.do("get", object, func() error { return c.Get(ctx, key, object, options...) })
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				return once.do("list", list, func() error { return c.List(ctx, list, options...) })
			},
		}})
		create(model, service)
		whole()
		change()
	})

	ginkgo.It("in the middle show in status, leave nothing out and heal", func() {
		var broken atomic.Bool
		broken.Store(true)
		runOperator(operatorSettings{namespaces: []string{namespace}, faults: interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
				if broken.Load() && kindOf(object) == "Service" {
					return errInternal
				}
				return c.Create(ctx, object, options...)
			},
		}})
		create(model, service)
		for _, object := range []owner{model, service} {
			expectReason(object, aiv1.ReasonApplyFailed, "Service", "etcd is not well")
			Expect(children(object)).To(HaveLen(2))
			Expect(recorded(object)).To(ContainElements(children(object)))
			expectConsistent(object)
		}
		// What was created and is not wanted any more by the time it heals is not forgotten either.
		broken.Store(false)
		whole()
		change()
	})

	ginkgo.It("of status only do not keep the children from being made", func() {
		var broken atomic.Bool
		broken.Store(true)
		runOperator(operatorSettings{namespaces: []string{namespace}, faults: interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
				if broken.Load() && kindOf(object) == "AIModel" {
					return errTimeout
				}
				return c.SubResource(name).Patch(ctx, object, patch, options...)
			},
		}})
		create(model, service)
		Eventually(children).WithArguments(model).Should(HaveLen(4))
		broken.Store(false)
		whole()
	})
})

// hook is told of a request before it is sent, and sends it or not.
type hook func(verb string, object any, request func() error) error

// writes puts a hook before every write of the controllers.
func writes(h hook) interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			return h("create", object, func() error { return c.Create(ctx, object, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			return h("patch", object, func() error { return c.Patch(ctx, object, patch, options...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return h("apply", object, func() error { return c.Apply(ctx, object, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			return h("delete", object, func() error { return c.Delete(ctx, object, options...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			return h(name, object, func() error { return c.SubResource(name).Patch(ctx, object, patch, options...) })
		},
	}
}

func kindOf(object any) string {
	typed, ok := object.(runtime.Object)
	if !ok {
		return fmt.Sprintf("%T", object)
	}
	if kind := typed.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	gvk, err := apiutil.GVKForObject(typed, k8s.Scheme())
	if err != nil {
		return fmt.Sprintf("%T", object)
	}
	return gvk.Kind
}

// once lets each kind of request of each kind of object fail one time.
type once struct {
	fault error
	// afterwards lets the request be done first, as when its answer gets lost.
	afterwards bool

	mu  sync.Mutex
	met []string
}

func newOnce(fault error) *once { return &once{fault: fault} }

func (o *once) do(verb string, object any, request func() error) error {
	if !o.first(verb + " " + kindOf(object)) {
		return request()
	}
	if o.afterwards {
		if err := request(); err != nil {
			return err
		}
	}
	return o.fault
}

func (o *once) first(what string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.Contains(o.met, what) {
		return false
	}
	o.met = append(o.met, what)
	return true
}

func (o *once) expectMet(requests ...string) {
	ginkgo.GinkgoHelper()
	o.mu.Lock()
	defer o.mu.Unlock()
	Expect(o.met).To(ContainElements(requests))
}
