package connections

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// opened returns connections to a registry whose Secret was read once and is to be read again, the registry and a client.
func opened(t *testing.T) (*Connections, *v1alpha1.ModelRegistry, client.Client, *Connection) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "keys"}, Data: map[string][]byte{"token": []byte("x")}}).Build()
	c := &Connections{Live: live, New: func(string, registry.Config) (registry.Backend, error) { return nil, nil }}
	of := &v1alpha1.ModelRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "main", UID: "a", Generation: 1}}
	of.Spec.URL, of.Spec.Auth = "http://127.0.0.1:1", &v1alpha1.RegistryAuth{SecretName: "keys"}
	connection, err := c.Open(t.Context(), of, false)
	if err != nil {
		t.Fatal(err)
	}
	c.slotOf(client.ObjectKeyFromObject(of)).readAt = time.Time{}
	return c, of, live, connection
}

func TestACleanupGoesOnWithoutItsSecret(t *testing.T) {
	for name, tc := range map[string]struct {
		cleanup bool
		change  func(*v1alpha1.ModelRegistry)
		want    bool
	}{
		"a cleanup": {cleanup: true, want: true},
		"a cleanup, while the registry is deleted as well": {cleanup: true, change: deleted, want: true},
		"no cleanup": {},
		"no cleanup, while the registry is deleted":  {change: deleted},
		"a cleanup at another address":               {cleanup: true, change: func(of *v1alpha1.ModelRegistry) { of.Spec.URL = "http://127.0.0.1:2" }},
		"a cleanup in another registry of that name": {cleanup: true, change: func(of *v1alpha1.ModelRegistry) { of.UID = "b" }},
	} {
		t.Run(name, func(t *testing.T) {
			c, of, live, first := opened(t)
			if err := live.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "keys"}}); err != nil {
				t.Fatal(err)
			}
			if tc.change != nil {
				tc.change(of)
			}
			got, err := c.Open(t.Context(), of, tc.cleanup)
			if tc.want && (err != nil || got != first) {
				t.Errorf("%p, %v; want the connection that there was", got, err)
			}
			if !tc.want && !errors.Is(err, ErrSecretNotFound) {
				t.Errorf("%v, want %v", err, ErrSecretNotFound)
			}
		})
	}
}

// deleted marks a registry as the API server does, which counts that as a new generation.
func deleted(of *v1alpha1.ModelRegistry) {
	now := metav1.Now()
	of.DeletionTimestamp, of.Generation = &now, of.Generation+1
}

func TestTheSameSecretAndSpecAreOneConnection(t *testing.T) {
	c, of, live, first := opened(t)
	deleted(of)
	if got, err := c.Open(t.Context(), of, false); err != nil || got != first {
		t.Errorf("%p, %v; want the connection that there was", got, err)
	}
	secret := &corev1.Secret{}
	if err := live.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "keys"}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data["token"] = []byte("y")
	if err := live.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	c.slotOf(client.ObjectKeyFromObject(of)).readAt = time.Time{}
	if got, err := c.Open(t.Context(), of, false); err != nil || got == first {
		t.Errorf("%p, %v; want a new connection for the new Secret", got, err)
	}
}
