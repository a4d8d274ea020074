package apply

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

func TestPrune(t *testing.T) {
	entry := aiv1.InventoryEntry{APIVersion: "v1", Kind: "Service", Name: "llama"}
	deleted := []Change{{Deleted, "Service", "llama"}}
	ours := []metav1.OwnerReference{ownerReference(owner())}
	older := owner()
	older.UID = "older"
	for name, tc := range map[string]struct {
		live     func(*corev1.Service)
		recorded []aiv1.InventoryEntry
		objects  []Object
		fail     error
		want     []Change
		wantErr  bool
		wantLive bool
	}{
		"ours, no longer rendered":       {live: func(s *corev1.Service) { s.OwnerReferences = ours }, recorded: []aiv1.InventoryEntry{entry}, want: deleted},
		"ours, recorded twice":           {live: func(s *corev1.Service) { s.OwnerReferences = ours }, recorded: []aiv1.InventoryEntry{entry, entry}, want: deleted},
		"ours, still rendered":           {live: func(s *corev1.Service) { s.OwnerReferences = ours }, recorded: []aiv1.InventoryEntry{entry}, objects: []Object{prepare(t, service())}, wantLive: true},
		"ours, not recorded":             {live: func(s *corev1.Service) { s.OwnerReferences = ours }, wantLive: true},
		"gone already":                   {recorded: []aiv1.InventoryEntry{entry}},
		"somebody else's by now":         {live: func(*corev1.Service) {}, recorded: []aiv1.InventoryEntry{entry}, wantLive: true},
		"of an earlier owner":            {live: func(s *corev1.Service) { s.OwnerReferences = []metav1.OwnerReference{ownerReference(older)} }, recorded: []aiv1.InventoryEntry{entry}, wantLive: true},
		"gone while we delete it":        {live: func(s *corev1.Service) { s.OwnerReferences = ours }, recorded: []aiv1.InventoryEntry{entry}, fail: apierrors.NewNotFound(schema.GroupResource{}, "llama"), wantLive: true},
		"replaced while we delete it":    {live: func(s *corev1.Service) { s.OwnerReferences = ours }, recorded: []aiv1.InventoryEntry{entry}, fail: apierrors.NewConflict(schema.GroupResource{}, "llama", errors.New("uid")), wantErr: true, wantLive: true},
		"of a kind that nobody knows":    {recorded: []aiv1.InventoryEntry{{APIVersion: "x.example.com/v1", Kind: "X", Name: "llama"}, entry}, live: func(s *corev1.Service) { s.OwnerReferences = ours }, want: deleted},
		"of a kind that is not ours":     {recorded: []aiv1.InventoryEntry{{APIVersion: "v1", Kind: "Secret", Name: "llama"}}},
		"another version of a kept kind": {recorded: []aiv1.InventoryEntry{{APIVersion: "apps/v1", Kind: "Deployment", Name: "other"}}, objects: []Object{prepare(t, deployment())}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			if tc.live != nil {
				live := service()
				tc.live(live)
				c = newCluster(t, live)
			}
			c.fail["delete"] = tc.fail
			got, err := c.applier().Prune(t.Context(), owner(), tc.recorded, tc.objects)
			if (err != nil) != tc.wantErr {
				t.Errorf("error = %v, want one: %v", err, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			err = c.Get(t.Context(), client.ObjectKey{Namespace: "team-a", Name: "llama"}, &corev1.Service{})
			if (err == nil) != tc.wantLive {
				t.Errorf("the Service is there: %v, want %v", err == nil, tc.wantLive)
			}
		})
	}
}

func TestADeleteHoldsToTheObjectThatWasLookedAt(t *testing.T) {
	live := service()
	live.OwnerReferences, live.UID = []metav1.OwnerReference{ownerReference(owner())}, "uid-of-service"
	var got client.DeleteOptions
	inner := fake.NewClientBuilder().WithScheme(testScheme(t)).WithObjects(live).Build()
	c := interceptor.NewClient(inner, interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.DeleteOption) error {
			got.ApplyOptions(opts)
			return nil
		},
	})
	applier := &Applier{Client: c, Live: c, Kinds: testKinds}
	_, err := applier.Prune(t.Context(), owner(), []aiv1.InventoryEntry{{APIVersion: "v1", Kind: "Service", Name: "llama"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Preconditions == nil || got.Preconditions.UID == nil || *got.Preconditions.UID != "uid-of-service" {
		t.Errorf("preconditions = %v, want the UID of the object", got.Preconditions)
	}
	if got.PropagationPolicy == nil || *got.PropagationPolicy != metav1.DeletePropagationBackground {
		t.Errorf("propagation = %v, want Background", got.PropagationPolicy)
	}
}

func TestOwnedFindsWhatNoInventoryLists(t *testing.T) {
	ours, theirs := service(), deployment()
	ours.OwnerReferences = []metav1.OwnerReference{ownerReference(owner())}
	elsewhere := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "team-b", Name: "llama", OwnerReferences: ours.OwnerReferences}}
	c := newCluster(t, ours, theirs, elsewhere)
	got, err := c.applier().Owned(t.Context(), owner(), "llama")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]aiv1.InventoryEntry{{APIVersion: "v1", Kind: "Service", Name: "llama"}}, got); diff != "" {
		t.Errorf("owned (-want +got):\n%s", diff)
	}
	applier := c.applier()
	applier.Kinds = []schema.GroupVersionKind{{Group: "x.example.com", Version: "v1", Kind: "X"}}
	if _, err := applier.Owned(t.Context(), owner(), "llama"); err == nil {
		t.Error("a kind that nobody knows gives no error")
	}
}

func TestInventoryIsInTheOrderOfTheObjects(t *testing.T) {
	got := Inventory([]Object{prepare(t, service()), prepare(t, deployment())})
	want := []aiv1.InventoryEntry{{APIVersion: "v1", Kind: "Service", Name: "llama"}, {APIVersion: "apps/v1", Kind: "Deployment", Name: "llama"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	if Inventory(nil) != nil {
		t.Error("no objects give an inventory")
	}
}
