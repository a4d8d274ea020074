package apply

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var testKinds = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Service"),
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
}

// cluster is a store with a count of what is written to it.
type cluster struct {
	client.WithWatch
	creates, applies, patches, deletes int
	// fail makes a verb fail: as often as failures says, or always.
	fail     map[string]error
	failures map[string]int
}

// failure returns the error that a call of the verb meets.
func (c *cluster) failure(verb string) error {
	if left, counted := c.failures[verb]; counted {
		if left == 0 {
			return nil
		}
		c.failures[verb]--
	}
	return c.fail[verb]
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	c := &cluster{fail: map[string]error{}, failures: map[string]int{}}
	inner := fake.NewClientBuilder().WithScheme(testScheme(t)).WithReturnManagedFields().WithObjects(objects...).Build()
	c.WithWatch = interceptor.NewClient(inner, interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			c.creates++
			if err := c.failure("create"); err != nil {
				return err
			}
			return w.Create(ctx, o, opts...)
		},
		Apply: func(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			c.applies++
			if err := c.failure("apply"); err != nil {
				return err
			}
			return w.Apply(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, w client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			c.patches++
			if err := c.failure("patch"); err != nil {
				return err
			}
			return w.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			c.deletes++
			if err := c.failure("delete"); err != nil {
				return err
			}
			return w.Delete(ctx, o, opts...)
		},
	})
	return c
}

func (c *cluster) writes() int { return c.creates + c.applies + c.patches + c.deletes }

func (c *cluster) applier() *Applier { return &Applier{Client: c, Live: c, Kinds: testKinds} }

func (c *cluster) apply(t *testing.T, objects ...Object) []Change {
	t.Helper()
	changes, err := c.applier().Apply(t.Context(), owner(), objects)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func (c *cluster) read(t *testing.T, into client.Object) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "llama"}, into); err != nil {
		t.Fatal(err)
	}
}

func image(name string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = name }
}

func withoutB(d *appsv1.Deployment) {
	c := &d.Spec.Template.Spec.Containers[0]
	c.Env = c.Env[:1]
}

func TestASecondPassWritesNothing(t *testing.T) {
	c := newCluster(t)
	objects := []Object{prepare(t, service()), prepare(t, deployment())}
	want := []Change{{Created, "Service", "llama"}, {Created, "Deployment", "llama"}}
	if diff := cmp.Diff(want, c.apply(t, objects...)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	before := c.writes()
	if changes := c.apply(t, objects...); len(changes) != 0 || c.writes() != before {
		t.Errorf("the second pass changed %v, with %d writes", changes, c.writes()-before)
	}
}

func TestAFieldThatIsNoLongerRenderedGoes(t *testing.T) {
	c := newCluster(t)
	c.apply(t, prepare(t, deployment()))

	want := []Change{{Updated, "Deployment", "llama"}}
	if diff := cmp.Diff(want, c.apply(t, prepare(t, deployment(withoutB)))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	live := &appsv1.Deployment{}
	c.read(t, live)
	if got := live.Spec.Template.Spec.Containers[0].Env; len(got) != 1 || got[0].Name != "A" {
		t.Errorf("env = %v, want A only: what came with the create has to go like what came with an apply", got)
	}
	if wasCreated(live) {
		t.Error("the object is still marked as created only")
	}
	if c.patches != 1 {
		t.Errorf("%d patches of the field owners, want 1", c.patches)
	}

	c.apply(t, prepare(t, deployment()))
	c.apply(t, prepare(t, deployment(withoutB)))
	if c.patches != 1 {
		t.Errorf("%d patches of the field owners, want one in the life of the object", c.patches)
	}
}

func TestATakeoverThatMeetsAConflictIsTriedAgainAtOnce(t *testing.T) {
	c := newCluster(t)
	c.apply(t, prepare(t, deployment()))
	c.fail["patch"], c.failures["patch"] = apierrors.NewConflict(schema.GroupResource{}, "llama", errors.New("changed")), 2
	changes := c.apply(t, prepare(t, deployment(withoutB)))
	if diff := cmp.Diff([]Change{{Updated, "Deployment", "llama"}}, changes); diff != "" || c.patches != 3 {
		t.Errorf("changes (-want +got):\n%s\n%d patches, want 3", diff, c.patches)
	}
}

func TestWhatAnApplyCannotMendIsReplaced(t *testing.T) {
	c := newCluster(t)
	c.apply(t, prepare(t, service()))
	var live corev1.Service
	c.read(t, &live)
	live.Spec.Ports[0].Port++
	if err := c.Update(t.Context(), &live); err != nil {
		t.Fatal(err)
	}
	c.fail["apply"], c.failures["apply"] = apierrors.NewInvalid(schema.GroupKind{}, "llama", nil), 1
	changes := c.apply(t, prepare(t, service()))
	if diff := cmp.Diff([]Change{{Repaired, "Service", "llama"}}, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	c.read(t, &live)
	if len(live.Spec.Ports) != 1 || live.Spec.Ports[0].Port != service().Spec.Ports[0].Port || !wasCreated(&live) {
		t.Errorf("ports = %v, annotations = %v; want the rendered port alone, marked as created", live.Spec.Ports, live.Annotations)
	}
	before := c.writes()
	c.apply(t, prepare(t, service()))
	if c.writes() != before {
		t.Error("the next pass writes again")
	}
}

func TestAFailedTakeoverIsRepeated(t *testing.T) {
	c := newCluster(t)
	c.apply(t, prepare(t, deployment()))
	c.fail["apply"] = apierrors.NewTimeoutError("slow", 1)
	if _, err := c.applier().Apply(t.Context(), owner(), []Object{prepare(t, deployment(withoutB))}); err == nil {
		t.Fatal("no error")
	}
	delete(c.fail, "apply")
	c.apply(t, prepare(t, deployment(withoutB)))
	live := &appsv1.Deployment{}
	c.read(t, live)
	if got := live.Spec.Template.Spec.Containers[0].Env; len(got) != 1 {
		t.Errorf("env = %v, want A only", got)
	}
}

func TestSomebodyElsesChange(t *testing.T) {
	for name, tc := range map[string]struct {
		change     func(*appsv1.Deployment)
		want       []Change
		wantImage  string
		wantForeig bool
	}{
		"of what is rendered is put back": {
			change:    image("hacked:1"),
			want:      []Change{{Repaired, "Deployment", "llama"}},
			wantImage: "server:1",
		},
		"of what is not rendered is left alone": {
			change: func(d *appsv1.Deployment) {
				d.Labels["team"] = "x"
				d.Spec.Template.Spec.Containers[0].Env = append(d.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "Z", Value: "z"})
			},
			wantImage: "server:1",
		},
		"that takes our mark away makes it an update": {
			change:    func(d *appsv1.Deployment) { d.Annotations = nil },
			want:      []Change{{Updated, "Deployment", "llama"}},
			wantImage: "server:1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.apply(t, prepare(t, deployment()))
			live := &appsv1.Deployment{}
			c.read(t, live)
			tc.change(live)
			if err := c.Update(t.Context(), live, client.FieldOwner("somebody")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, c.apply(t, prepare(t, deployment()))); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			c.read(t, live)
			if got := live.Spec.Template.Spec.Containers[0].Image; got != tc.wantImage {
				t.Errorf("image = %s, want %s", got, tc.wantImage)
			}
			if changes := c.apply(t, prepare(t, deployment())); len(changes) != 0 {
				t.Errorf("a further pass changed %v", changes)
			}
		})
	}
}

func TestAnObjectOfSomebodyElseIsLeftAlone(t *testing.T) {
	other := owner()
	other.UID = "an-earlier-llama"
	for name, owners := range map[string][]metav1.OwnerReference{
		"that nobody controls":                       nil,
		"that another object controls":               {{APIVersion: "v1", Kind: "X", Name: "x", UID: "x", Controller: new(true)}},
		"of an earlier owner of the same name":       {ownerReference(other)},
		"that names the owner without its control":   {{APIVersion: aiv1.GroupVersion.String(), Kind: "AIModel", Name: "llama", UID: owner().UID}},
		"whose owner is of the same uid, no control": {{UID: owner().UID, Controller: new(false)}},
	} {
		t.Run(name, func(t *testing.T) {
			foreign := deployment(image("theirs:1"))
			foreign.OwnerReferences = owners
			c := newCluster(t, foreign)
			changes, err := c.applier().Apply(t.Context(), owner(), []Object{prepare(t, deployment())})
			var conflict *ConflictError
			if !errors.As(err, &conflict) || len(changes) != 0 || c.writes() != 0 {
				t.Errorf("err = %v, changes = %v, writes = %d; want a conflict and no write", err, changes, c.writes())
			}
		})
	}
}

func TestAStaleCacheDoesNotTakeOver(t *testing.T) {
	for name, tc := range map[string]struct {
		owners []metav1.OwnerReference
		want   bool
	}{
		"an object that we made a moment ago": {[]metav1.OwnerReference{ownerReference(owner())}, false},
		"an object of somebody else":          {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			live := deployment()
			live.OwnerReferences = tc.owners
			c, cache := newCluster(t, live), newCluster(t)
			cache.fail["create"] = apierrors.NewAlreadyExists(deployments, "llama")
			// Reads of the cache miss what the cluster has.
			applier := &Applier{Client: overlaid{cache, c}, Live: c, Kinds: testKinds}
			_, err := applier.Apply(t.Context(), owner(), []Object{prepare(t, deployment())})
			var conflict *ConflictError
			if got := errors.As(err, &conflict); got != tc.want {
				t.Errorf("err = %v, want a conflict: %v", err, tc.want)
			}
		})
	}
}

// overlaid reads from one store and applies to another.
type overlaid struct {
	client.Client
	target *cluster
}

func (o overlaid) Apply(ctx context.Context, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return o.target.Apply(ctx, object, opts...)
}

func TestAnObjectThatIsBeingDeletedIsWaitedFor(t *testing.T) {
	going := deployment()
	going.OwnerReferences = []metav1.OwnerReference{ownerReference(owner())}
	going.DeletionTimestamp, going.Finalizers = new(metav1.Now()), []string{"example.com/wait"}
	c := newCluster(t, going)
	_, err := c.applier().Apply(t.Context(), owner(), []Object{prepare(t, deployment())})
	var terminating *TerminatingError
	if !errors.As(err, &terminating) || c.writes() != 0 {
		t.Errorf("err = %v, writes = %d; want a TerminatingError and no write", err, c.writes())
	}
}

func TestApplyStopsAtTheFirstErrorAndTellsWhatItDid(t *testing.T) {
	foreign := deployment()
	c := newCluster(t, foreign)
	changes, err := c.applier().Apply(t.Context(), owner(), []Object{
		prepare(t, service()), prepare(t, deployment()),
		prepare(t, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama"}}),
	})
	if err == nil || err.Error() != `apply Deployment "llama": Deployment "llama" exists in namespace "team-a" and is `+
		`not controlled by this operator; it is left as it is` {
		t.Errorf("error = %v", err)
	}
	if diff := cmp.Diff([]Change{{Created, "Service", "llama"}}, changes); diff != "" || c.creates != 1 {
		t.Errorf("changes (-want +got):\n%s\n%d creates", diff, c.creates)
	}
}
