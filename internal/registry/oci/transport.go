package oci

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

const (
	// maxManifest is the largest manifest that registries take, in bytes.
	maxManifest = 4 << 20
	// maxError bounds what is read of an answer that says what went wrong.
	maxError = 64 << 10
)

// classified gives the answers that say no their meaning, while all of what the registry said is still at hand: the client
// library keeps neither Retry-After nor the difference between the registry's 404 and the 404 of a proxy.
type classified struct{ next http.RoundTripper }

// RoundTrip lets through what is no error, a 401, which the client library answers with credentials, and the registry's own 404.
func (c classified) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if err != nil || response.StatusCode < http.StatusBadRequest || response.StatusCode == http.StatusUnauthorized {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxError))
	if closing := response.Body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	said := complaints(body)
	if response.StatusCode == http.StatusNotFound && (request.Method == http.MethodHead || said.isUnknown()) {
		response.Body = io.NopCloser(bytes.NewReader(body))
		return response, nil
	}
	return nil, registry.FromStatus(step(request), response.StatusCode, response.Header, said.String())
}

// getToken names a request to the token service of a registry.
const getToken = "get a token"

// isAPI says whether a path is of a registry, and not of its token service.
func isAPI(path string) bool { return strings.HasPrefix(path, "/v2/") }

// step says in a word what a request is for, without its address.
func step(request *http.Request) string {
	what := "manifest"
	switch path := request.URL.Path; {
	case !isAPI(path):
		return getToken
	case strings.Contains(path, "/blobs/"):
		what = "blob"
	case strings.HasSuffix(path, "/tags/list"):
		what = "tags"
	case !strings.Contains(path, "/manifests/"):
		what = "registry"
	}
	switch request.Method {
	case http.MethodPut, http.MethodPost, http.MethodPatch:
		return "push the " + what
	case http.MethodDelete:
		return "delete the " + what
	default:
		return "read the " + what
	}
}

type complaintList []struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// complaints reads the errors of a registry, in the format of the distribution specification.
func complaints(body []byte) complaintList {
	var said struct {
		Errors complaintList `json:"errors"`
	}
	if json.Unmarshal(body, &said) != nil {
		return nil
	}
	return said.Errors
}

// isUnknown says whether a registry itself says that it has no such thing.
func (l complaintList) isUnknown() bool {
	for _, c := range l {
		if slices.Contains([]string{"MANIFEST_UNKNOWN", "NAME_UNKNOWN", "BLOB_UNKNOWN", "NOT_FOUND"}, c.Code) {
			return true
		}
	}
	return false
}

func (l complaintList) String() string {
	said := make([]string, 0, len(l))
	for _, c := range l {
		said = append(said, strings.TrimSpace(c.Code+" "+c.Message))
	}
	return strings.Join(said, ", ")
}

// needs is what a registry says in the details of its errors that a request needs: actions on a repository.
func needs(refused errcode.Errors) string {
	var all []string
	for _, one := range refused {
		if one.Code != errcode.ErrorCodeUnauthorized && one.Code != errcode.ErrorCodeDenied {
			continue
		}
		var wanted []struct{ Type, Name, Action string }
		raw, err := json.Marshal(one.Detail)
		if err != nil || json.Unmarshal(raw, &wanted) != nil {
			continue // others put other things there
		}
		for _, w := range wanted {
			if w.Action != "" {
				all = append(all, fmt.Sprintf("%s of %s %s", w.Action, w.Type, w.Name))
			}
		}
	}
	return strings.Join(all, ", ")
}
