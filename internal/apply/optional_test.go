package apply

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// someKinds serves a part of the kinds.
type someKinds struct {
	served  map[string]bool
	asked   int
	failure error
}

func (s *someKinds) Ensure(gvk schema.GroupVersionKind) (bool, error) {
	s.asked++
	return s.served[gvk.Kind], s.failure
}

func (s *someKinds) IsWatched(gvk schema.GroupVersionKind) bool { return s.served[gvk.Kind] }

func TestAKindThatTheClusterLacks(t *testing.T) {
	entry := aiv1.InventoryEntry{APIVersion: "v1", Kind: "Service", Name: "llama"}
	for name, tc := range map[string]struct {
		kinds      *someKinds
		wantServed bool
		wantError  string
	}{
		"is told when it is needed": {&someKinds{}, false, `apply Service "llama": `},
		"is used once it is served": {&someKinds{served: map[string]bool{"Service": true}}, true, ""},
		"cannot be asked for":       {&someKinds{failure: errors.New("slow")}, false, `apply Service "llama": slow`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			applier := c.applier()
			applier.Optional = tc.kinds
			_, err := applier.Apply(t.Context(), owner(), []Object{prepare(t, service())})
			if (tc.wantError == "") != (err == nil) || (err != nil && !strings.HasPrefix(err.Error(), tc.wantError)) {
				t.Errorf("error = %v, want %q", err, tc.wantError)
			}
			if (c.creates > 0) != tc.wantServed {
				t.Errorf("%d creates", c.creates)
			}
			owned, err := applier.Owned(t.Context(), owner(), "llama")
			if err != nil || (len(owned) > 0) != tc.wantServed {
				t.Errorf("owned = %v, error = %v", owned, err)
			}
		})
	}

	live := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama",
		OwnerReferences: []metav1.OwnerReference{ownerReference(owner())}}}
	c := newCluster(t, live)
	applier := c.applier()
	applier.Optional = &someKinds{}
	if changes, err := applier.Prune(t.Context(), owner(), []aiv1.InventoryEntry{entry}, nil); err != nil || len(changes) != 0 {
		t.Errorf("what cannot be there is deleted: %v, error = %v", changes, err)
	}
}
