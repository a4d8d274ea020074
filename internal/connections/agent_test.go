package connections

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/backends"
)

func TestEveryRequestToARegistryNamesTheOperatorAndItsVersion(t *testing.T) {
	for _, kind := range []v1alpha1.RegistryType{
		v1alpha1.RegistryMLflow, v1alpha1.RegistryKubeflow, v1alpha1.RegistryOCI, v1alpha1.RegistryWebhook,
	} {
		t.Run(string(kind), func(t *testing.T) {
			var lock sync.Mutex
			seen := map[string]int{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				lock.Lock()
				defer lock.Unlock()
				seen[r.UserAgent()]++
				w.WriteHeader(http.StatusInternalServerError)
			}))
			defer server.Close()
			of := &v1alpha1.ModelRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "main", UID: "a"}}
			of.Spec.Type, of.Spec.URL = kind, server.URL
			c := &Connections{New: backends.New, Cluster: "c", UserAgent: "aimodel-operator/1.2.3"}
			connection, err := c.Open(t.Context(), of, false)
			if err != nil {
				t.Fatal(err)
			}
			what := registry.Registration{Owner: registry.Owner{Cluster: "c", Namespace: "team", Name: "m", UID: "u"}, Key: "k", Name: "m", Version: "1"}
			_, registered := connection.Register(t.Context(), types.NamespacedName{Name: "m"}, what)
			for _, err := range []error{
				connection.Check(t.Context()), registered,
				connection.Unregister(t.Context(), types.NamespacedName{Name: "m"}, what, registry.Delete),
			} {
				if registry.AsError(err) == nil {
					t.Error("a call succeeded")
				}
			}
			if len(seen) != 1 || seen["aimodel-operator/1.2.3"] < 3 {
				t.Errorf("it was named %v", seen)
			}
		})
	}
}
