package permissions

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

func TestGranted(t *testing.T) {
	got := Granted([]rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods", "services"}, Verbs: []string{"watch", "list"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments/finalizers"}, Verbs: []string{"update"}},
		{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
	})
	want := []string{"list /pods", "list /services", "watch /pods", "watch /services"}
	if !slices.Equal(got, want) {
		t.Errorf("granted %q, want %q", got, want)
	}
}

func TestUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		method, path string
		watch        bool
		want         []string
	}{
		"get":                       {http.MethodGet, "/api/v1/namespaces/a/secrets/b", false, []string{"get /secrets"}},
		"get of the cluster's":      {http.MethodGet, "/apis/x.io/v1/things/b", false, []string{"get x.io/things"}},
		"get of a namespace":        {http.MethodGet, "/api/v1/namespaces/a", false, []string{"get /namespaces"}},
		"list":                      {http.MethodGet, "/apis/apps/v1/namespaces/a/deployments", false, []string{"list apps/deployments"}},
		"watch, which may list too": {http.MethodGet, "/apis/apps/v1/deployments", true, []string{"list apps/deployments", "watch apps/deployments"}},
		"create":                    {http.MethodPost, "/api/v1/namespaces/a/services", false, []string{"create /services"}},
		"update":                    {http.MethodPut, "/api/v1/namespaces/a/services/b", false, []string{"update /services"}},
		"patch of a subresource":    {http.MethodPatch, "/apis/ai.example.com/v1/namespaces/a/aimodels/b/status", false, []string{"patch ai.example.com/aimodels/status"}},
		"delete":                    {http.MethodDelete, "/api/v1/namespaces/a/services/b", false, []string{"delete /services"}},
		"discovery":                 {http.MethodGet, "/apis/apps/v1", false, nil},
		"a path":                    {http.MethodGet, "/readyz", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			used := Used{}
			used.Add(tc.method, tc.path, tc.watch)
			if got := used.Sorted(); !slices.Equal(got, tc.want) {
				t.Errorf("used %q, want %q", got, tc.want)
			}
		})
	}
}

func TestReadAudit(t *testing.T) {
	log := `{"verb":"watch","user":{"username":"me"},"objectRef":{"resource":"pods"},"responseStatus":{"code":200}}
{"verb":"get","user":{"username":"somebody"},"objectRef":{"resource":"secrets"},"responseStatus":{"code":200}}
{"verb":"patch","user":{"username":"me"},"objectRef":{"apiGroup":"ai.example.com","resource":"aimodels","subresource":"status"},"responseStatus":{"code":200}}
{"verb":"get","requestURI":"/api/v1/secrets/x","user":{"username":"me"},"objectRef":{"resource":"secrets"},"responseStatus":{"code":403}}
{"verb":"get","requestURI":"/api/v1/secrets/y","user":{"username":"me"},"objectRef":{"resource":"secrets"},"responseStatus":{"code":403},"annotations":{"authorization.k8s.io/decision":"allow"}}
{"verb":"get","requestURI":"/apis","user":{"username":"me"},"responseStatus":{"code":200}}
{"verb":"create","user":{"username":"me"},"objec`
	used, refused, err := ReadAudit(strings.NewReader(log), "me")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := used.Sorted(), []string{"get /secrets", "list /pods", "patch ai.example.com/aimodels/status", "watch /pods"}; !slices.Equal(got, want) {
		t.Errorf("used %q, want %q", got, want)
	}
	if want := []string{"get /api/v1/secrets/x"}; !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}
}

func TestRequests(t *testing.T) {
	log := `{"verb":"watch","user":{"username":"me"},"userAgent":"operator","objectRef":{"resource":"pods"}}
{"verb":"get","user":{"username":"me"},"userAgent":"kubectl"}
{"verb":"get","user":{"username":"admin"},"userAgent":"kubectl"}
{"verb":"get","user":{"username":"me"},"userAgent":"operator"}
{"verb":"get","user":{"username":"other"},"userAgent":"operator"}
{"verb":"create","user":{"username":"admin"},"userAg`
	of, err := Requests(strings.NewReader(log), "operator")
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"me": 2, "other": 1}; !maps.Equal(of, want) {
		t.Errorf("requests %v, want %v", of, want)
	}
}
