package registries

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/oci"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/inspect"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

// Most registries of clouds and products ask for tokens of a service, which exchanges a user name and a password for them.
func TestOCIWithTokens(t *testing.T) {
	t.Parallel()
	tokens := servers.StartTokens(t)
	server := servers.StartOCI(t, servers.OCIOptions{Tokens: tokens})
	conformance.Run(t, conformance.Target{
		New:             newOCI,
		Config:          registry.Config{URL: server.URL + "/models", Auth: registry.Auth{Username: tokens.User, Password: tokens.Password}},
		Server:          inspect.OCI{OCI: server, Path: "models"},
		ListsNoServings: true,
		CutsOnly:        true, // TestOCI has the others
		Many:            50,
	})
}

func ociAs(t *testing.T, server servers.OCI, auth registry.Auth) registry.Backend {
	t.Helper()
	return connect(t, oci.New, registry.Config{URL: server.URL, Auth: auth})
}

func TestOCITokensThatDoNotDo(t *testing.T) {
	t.Parallel()
	tokens := servers.StartTokens(t)
	server := servers.StartOCI(t, servers.OCIOptions{Tokens: tokens})
	look := inspect.OCI{OCI: server}
	right := registry.Auth{Username: tokens.User, Password: tokens.Password}
	enough := func() { tokens.Give(time.Hour, "pull", "push", "delete") }

	t.Run("who gets no token is not authorized", func(t *testing.T) {
		for _, auth := range []registry.Auth{{}, {Username: tokens.User, Password: "a-wrong-password"}} {
			backend := ociAs(t, server, auth)
			_, err := backend.Register(t.Context(), llama("1.0"))
			for _, err := range []error{err, backend.Check(t.Context())} {
				wantReason(t, err, registry.Unauthorized)
				wantText(t, err, "get a token: the registry answered 401")
			}
		}
	})
	t.Run("who may only pull is told what is missing", func(t *testing.T) {
		tokens.Give(time.Hour, "pull")
		defer enough()
		backend := ociAs(t, server, right)
		if err := backend.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := backend.Register(t.Context(), llama("1.0"))
		wantReason(t, err, registry.Unauthorized)
		wantText(t, err, "push of repository llama")
		if entries := look.Entries(t, "llama"); len(entries) > 0 {
			t.Errorf("there is %+v", entries)
		}
	})
	t.Run("who may not delete is told so, and the entry stays", func(t *testing.T) {
		r := llama("2.0")
		mustRegister(t, ociAs(t, server, right), r)
		tokens.Give(time.Hour, "pull", "push")
		backend := ociAs(t, server, right)
		err := backend.Unregister(t.Context(), r, registry.Delete)
		wantReason(t, err, registry.Unauthorized)
		wantText(t, err, "delete of repository llama")
		if entries := look.Entries(t, "llama"); len(entries) != 1 {
			t.Errorf("there is %+v", entries)
		}
		enough() // the same backend asks again
		if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("who may do nothing does not learn that there is nothing", func(t *testing.T) {
		r := llama("3.0")
		mustRegister(t, ociAs(t, server, right), r)
		tokens.Give(time.Hour)
		defer enough()
		backend := ociAs(t, server, right)
		for _, policy := range []registry.DeletionPolicy{registry.Delete, registry.Archive, registry.Orphan} {
			wantReason(t, backend.Unregister(t.Context(), r, policy), registry.Unauthorized)
		}
	})
	t.Run("a token that has ended is replaced", func(t *testing.T) {
		tokens.Give(5*time.Second, "pull", "push", "delete")
		backend := ociAs(t, server, right)
		r := llama("4.0")
		mustRegister(t, backend, r)
		enough()
		before := tokens.Issued()
		awaitRefusal(t, server, before[len(before)-1])
		r.Tags = map[string]string{"team": "ads"}
		mustRegister(t, backend, r)
		after := tokens.Issued()
		if len(after) == len(before) {
			t.Error("no other token was asked for")
		}
		if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
			t.Fatal(err)
		}
		if last := tokens.Issued(); slices.Contains(before, last[len(last)-1]) {
			t.Error("the token that has ended is the last one")
		}
	})
}

// awaitRefusal waits until the registry does not take a token any more.
func awaitRefusal(t *testing.T, server servers.OCI, token string) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		header := http.Header{"Authorization": {"Bearer " + token}}
		if status, _, _ := servers.Do(t, http.MethodGet, server.URL+"/v2/", header, ""); status == http.StatusUnauthorized {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("the token does not end")
		}
	}
}
