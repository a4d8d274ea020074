package metrics

import (
	"net/http"
	"strings"
)

// Results of a write.
const (
	writeOK       = "ok"
	writeConflict = "conflict"
	writeRefused  = "refused"
	writeFailed   = "failed"
)

var writes = newCounter("aimodel_operator_api_writes_total",
	"Requests to the API server that would change something, by verb, resource and result. Refused ones were answered with "+
		"a no; failed ones were not answered, throttled, or met an error of the server.",
	Label{Name: "verb", Values: []string{"create", "update", "patch", "apply", "delete"}},
	Label{Name: "resource", Bound: "the resources that the operator's role lets it write, subresources by name, and other"},
	Label{Name: "result", Values: []string{writeOK, writeConflict, writeRefused, writeFailed}})

// CountWrites makes a transport count the requests that write. Reads pass through it untouched.
func CountWrites(next http.RoundTripper) http.RoundTripper { return &writeCounter{next} }

type writeCounter struct{ next http.RoundTripper }

// RoundTrip sends the request.
func (c *writeCounter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if verb := writeVerb(request); verb != "" {
		if resource, counts := writtenResource(request.URL.Path); counts {
			writes.WithLabelValues(verb, resource, writeResult(response, err)).Inc()
		}
	}
	return response, err
}

// WrappedRoundTripper returns the transport that is counted, for those who look for its settings.
func (c *writeCounter) WrappedRoundTripper() http.RoundTripper { return c.next }

func writeVerb(request *http.Request) string {
	switch request.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodDelete:
		return "delete"
	case http.MethodPatch:
		if strings.HasPrefix(request.Header.Get("Content-Type"), "application/apply-patch") {
			return "apply"
		}
		return "patch"
	}
	return ""
}

// writtenResource finds the resource in the path of a request, such as deployments or aimodels/status. Questions that are
// put as a create, such as who a token belongs to, change nothing and do not count.
func writtenResource(path string) (resource string, counts bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api": // api/v1/...
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis": // apis/group/v1/...
		if parts[1] == "authentication.k8s.io" || parts[1] == "authorization.k8s.io" {
			return "", false
		}
		parts = parts[3:]
	default:
		return "other", true
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	if len(parts) > 2 { // resource/name/subresource
		return parts[0] + "/" + parts[2], true
	}
	return parts[0], true
}

func writeResult(response *http.Response, err error) string {
	switch {
	case err != nil, response.StatusCode >= http.StatusInternalServerError, response.StatusCode == http.StatusTooManyRequests:
		return writeFailed
	case response.StatusCode == http.StatusConflict:
		return writeConflict
	case response.StatusCode >= http.StatusBadRequest:
		return writeRefused
	}
	return writeOK
}
