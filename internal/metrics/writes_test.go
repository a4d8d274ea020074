package metrics

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type answer func(*http.Request) (*http.Response, error)

func (a answer) RoundTrip(request *http.Request) (*http.Response, error) { return a(request) }

func TestWritesAreCounted(t *testing.T) {
	const ours = "/apis/ai.example.com/v1/namespaces/team-a/"
	for name, tc := range map[string]struct {
		method, path, contentType string
		code                      int
		err                       error
		want                      string
	}{
		"a create":          {method: "POST", path: "/api/v1/namespaces/team-a/services", code: 201, want: "resource=services result=ok verb=create"},
		"a merge patch":     {method: "PATCH", path: "/apis/apps/v1/namespaces/team-a/deployments/x", contentType: "application/merge-patch+json", code: 200, want: "resource=deployments result=ok verb=patch"},
		"an apply":          {method: "PATCH", path: "/apis/apps/v1/namespaces/team-a/deployments/x", contentType: "application/apply-patch+yaml", code: 200, want: "resource=deployments result=ok verb=apply"},
		"an apply in CBOR":  {method: "PATCH", path: "/apis/apps/v1/namespaces/team-a/deployments/x", contentType: "application/apply-patch+cbor", code: 200, want: "resource=deployments result=ok verb=apply"},
		"a status":          {method: "PATCH", path: ours + "aimodels/status/status", code: 200, want: "resource=aimodels/status result=ok verb=patch"},
		"a conflict":        {method: "PUT", path: "/apis/coordination.k8s.io/v1/namespaces/o/leases/l", code: 409, want: "resource=leases result=conflict verb=update"},
		"a refusal":         {method: "POST", path: "/apis/apps/v1/namespaces/team-a/deployments", code: 403, want: "resource=deployments result=refused verb=create"},
		"a server's error":  {method: "DELETE", path: "/api/v1/namespaces/team-a/services/x", code: 500, want: "resource=services result=failed verb=delete"},
		"too many requests": {method: "DELETE", path: "/api/v1/namespaces/team-a/services/x", code: 429, want: "resource=services result=failed verb=delete"},
		"no answer":         {method: "DELETE", path: "/api/v1/namespaces/team-a/services/x", err: errors.New("cut off"), want: "resource=services result=failed verb=delete"},
		"a namespace":       {method: "DELETE", path: "/api/v1/namespaces/team-a", code: 200, want: "resource=namespaces result=ok verb=delete"},
		"a cluster's own":   {method: "PATCH", path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/x", code: 200, want: "resource=customresourcedefinitions result=ok verb=patch"},
		"something else":    {method: "POST", path: "/secret/path", code: 200, want: "resource=other result=ok verb=create"},
		"a read":            {method: "GET", path: "/api/v1/namespaces/team-a/services/x", code: 200},
		"a question":        {method: "POST", path: "/apis/authentication.k8s.io/v1/tokenreviews", code: 201},
		"another question":  {method: "POST", path: "/apis/authorization.k8s.io/v1/subjectaccessreviews", code: 201},
	} {
		t.Run(name, func(t *testing.T) {
			before := gathered(t)
			request, err := http.NewRequestWithContext(t.Context(), tc.method, "https://127.0.0.1"+tc.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", tc.contentType)
			response := &http.Response{StatusCode: tc.code, Body: http.NoBody}
			if tc.err != nil {
				response = nil
			}
			got, err := CountWrites(answer(func(*http.Request) (*http.Response, error) { return response, tc.err })).RoundTrip(request)
			if got != nil {
				if err := got.Body.Close(); err != nil {
					t.Error(err)
				}
			}
			if got != response || !errors.Is(err, tc.err) {
				t.Errorf("response = %v, error = %v: not what the server said", got, err)
			}
			want := map[string]float64{}
			if tc.want != "" {
				want["aimodel_operator_api_writes_total "+tc.want] = 1
			}
			if diff := cmp.Diff(want, grown(before, gathered(t))); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
		})
	}
}

// grown is what has been counted since.
func grown(before, after map[string]float64) map[string]float64 {
	grew := map[string]float64{}
	for key, value := range after {
		if value > before[key] {
			grew[key] = value - before[key]
		}
	}
	return grew
}
