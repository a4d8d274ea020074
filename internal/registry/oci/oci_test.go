package oci

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

var llama = registry.Registration{
	Owner: registry.Owner{Cluster: "c1", Namespace: "team-a", Name: "llama", UID: "u1"}, Key: "k1", Name: "llama", Version: "1.0",
}

// backend is one whose registry answers everything alike.
func backend(t *testing.T, status int, body string) *Backend {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	b, err := New(registry.Config{URL: server.URL, HTTPClient: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOnlyTheRegistrysOwn404CountsAsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		gone bool
	}{
		"no such manifest":   {`{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`, true},
		"no such repository": {`{"errors":[{"code":"NAME_UNKNOWN"}]}`, true},
		"a proxy":            {"404 page not found", false},
		"another service":    {`{"error":"not found"}`, false},
		"another error":      {`{"errors":[{"code":"DENIED"}]}`, false},
	} {
		err := backend(t, http.StatusNotFound, tc.body).Unregister(t.Context(), llama, registry.Delete)
		if (err == nil) != tc.gone || err != nil && registry.AsError(err).Reason != registry.Unreachable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTagsAreValidAndApart(t *testing.T) {
	seen := map[string]string{}
	for _, version := range []string{"1.0", "V1", "1 0", "1+0", "1/0", "adoption-x", strings.Repeat("a", 128), strings.Repeat("a", 129), ".1", "ü", "_"} {
		tag := tagOf(version)
		if other, taken := seen[tag]; taken || !tagPattern.MatchString(tag) {
			t.Errorf("%q has the tag %q, as has %q", version, tag, other)
		}
		seen[tag] = version
		if tagPattern.MatchString(version) && tag != version && version != "adoption-x" {
			t.Errorf("%q is a tag, and became %q", version, tag)
		}
		if beside := adoptionTag(tag); !tagPattern.MatchString(beside) {
			t.Errorf("the adoption of %q has the tag %q", version, beside)
		}
	}
}

func TestTheSameRegistrationHasTheSameDigest(t *testing.T) {
	changed := llama
	changed.Owner.UID = "u2"
	first := string(describe(llama).bytes())
	if first != string(describe(llama).bytes()) {
		t.Error("the same is not the same")
	}
	if first == string(describe(changed).bytes()) {
		t.Error("another incarnation has the same manifest")
	}
}
