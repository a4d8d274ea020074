package setup

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
)

// serve answers discovery of the operator's group with the resources named, or with a status.
func serve(t *testing.T, code int, resources ...string) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/apis/"+aiv1.GroupVersion.String() && r.URL.Path != "/apis/"+v1alpha1.GroupVersion.String() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(code)
		list := metav1.APIResourceList{GroupVersion: aiv1.GroupVersion.String()}
		for _, name := range resources {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestWaitForKinds(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg  *rest.Config
		want string
	}{
		"all are served":    {serve(t, http.StatusOK, "aimodels", "inferenceservices", "modelregistries", "aimodels/status"), ""},
		"the server failed": {serve(t, http.StatusForbidden), "ask the API server for its kinds"},
	} {
		t.Run(name, func(t *testing.T) {
			err := waitForKinds(t.Context(), tc.cfg)
			if tc.want == "" && err != nil {
				t.Errorf("error = %v", err)
			}
			if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestTheWaitForKindsEndsWithTheContext(t *testing.T) {
	for name, cfg := range map[string]*rest.Config{
		"one is served":  serve(t, http.StatusOK, "aimodels"),
		"one is missing": serve(t, http.StatusOK, "aimodels", "inferenceservices"),
		"none is served": serve(t, http.StatusNotFound),
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := waitForKinds(ctx, cfg)
			if err == nil || !strings.Contains(err.Error(), "apply config/crd first") {
				t.Errorf("error = %v, want what to do", err)
			}
		})
	}
}
