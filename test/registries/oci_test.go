package registries

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/oci"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/inspect"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

func newOCI(config registry.Config) (registry.Backend, error) { return oci.New(config) }

func TestOCI(t *testing.T) {
	t.Parallel()
	server := servers.StartOCI(t, servers.OCIOptions{Credentials: true})
	conformance.Run(t, conformance.Target{
		New:             newOCI,
		Config:          registry.Config{URL: server.URL + "/models", Auth: registry.Auth{Username: server.User, Password: server.Password}},
		Server:          inspect.OCI{OCI: server, Path: "models"},
		ListsNoServings: true,
		Many:            200,
	})
}

// ociBackend is a backend for a registry of its own.
func ociBackend(t *testing.T, options servers.OCIOptions) (registry.Backend, inspect.OCI) {
	t.Helper()
	server := servers.StartOCI(t, options)
	return connect(t, oci.New, registry.Config{URL: server.URL}), inspect.OCI{OCI: server}
}

// connect makes a backend whose requests may take a minute.
func connect[B registry.Backend](t *testing.T, create func(registry.Config) (B, error), config registry.Config) B {
	t.Helper()
	client, err := registry.NewHTTPClient(registry.Transport{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	config.HTTPClient = client
	backend, err := create(config)
	if err != nil {
		t.Fatal(err)
	}
	return backend
}

func llama(version string) registry.Registration {
	r := registry.Registration{
		Owner: registry.Owner{Cluster: "c1", Namespace: "team-a", Name: "llama", UID: "u1"}, Name: "llama", Version: version,
		SourceURI: "hf://meta-llama/Llama-3.1-8B", Tags: map[string]string{"team": "search"}, Adoption: registry.AdoptNever,
	}
	r.Key = registry.NewKey(r.Owner, r.Name, r.Version)
	return r
}

func mustRegister(t *testing.T, backend registry.Backend, r registry.Registration) registry.Entry {
	t.Helper()
	entry, err := backend.Register(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

func wantReason(t *testing.T, err error, want registry.Reason) {
	t.Helper()
	if told := registry.AsError(err); told == nil || told.Reason != want {
		t.Fatalf("got %v, want reason %s", err, want)
	}
}

func TestOCIRegistryThatDeletesNothing(t *testing.T) {
	t.Parallel()
	backend, server := ociBackend(t, servers.OCIOptions{NoDelete: true})
	r := llama("1.0")
	mustRegister(t, backend, r)
	r.Tags = map[string]string{"team": "ads"} // what is replaced cannot be deleted either, which is no error
	mustRegister(t, backend, r)
	wantReason(t, backend.Unregister(t.Context(), r, registry.Delete), registry.DeleteUnsupported)
	if entries := server.Entries(t, r.Name); len(entries) != 1 {
		t.Fatalf("there is %+v", entries)
	}
	if err := backend.Unregister(t.Context(), r, registry.Archive); err != nil {
		t.Fatal(err)
	}
	if entries := server.Entries(t, r.Name); !entries[0].Archived {
		t.Fatalf("there is %+v", entries)
	}
}

// Somebody who gave the operator's manifest a tag of their own keeps it.
func TestOCITagsOfOthersOnTheSameManifestStay(t *testing.T) {
	t.Parallel()
	backend, server := ociBackend(t, servers.OCIOptions{})
	r := llama("1.0")
	mustRegister(t, backend, r)
	_, raw := server.Manifest(t, r.Name, "1.0")
	server.Put(t, r.Name, "production", raw)

	r.Tags = nil
	mustRegister(t, backend, r)
	if status, kept := server.Manifest(t, r.Name, "production"); status != http.StatusOK || kept != raw {
		t.Fatalf("after a change, the other tag leads to %d %s", status, kept)
	}
	_, raw = server.Manifest(t, r.Name, "1.0")
	server.Put(t, r.Name, "production", raw)
	if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
		t.Fatal(err)
	}
	if status, kept := server.Manifest(t, r.Name, "production"); status != http.StatusOK || kept != raw {
		t.Fatalf("after the deletion, the other tag leads to %d %s", status, kept)
	}
	if status, _ := server.Manifest(t, r.Name, "1.0"); status != http.StatusNotFound {
		t.Fatalf("the operator's tag is still there: %d", status)
	}
}

// A manifest with weights is nobody's, also if it was made from the operator's and has its annotations.
func TestOCIManifestsWithWeightsAreNeverTheOperators(t *testing.T) {
	t.Parallel()
	backend, server := ociBackend(t, servers.OCIOptions{})
	r := llama("1.0")
	mustRegister(t, backend, r)
	_, raw := server.Manifest(t, r.Name, "1.0")
	weights := server.Blob(t, r.Name, "the weights")
	server.Put(t, r.Name, "1.0", strings.Replace(raw, `"layers":[`, `"layers":[`+weights+`,`, 1))
	_, before := server.Manifest(t, r.Name, "1.0")
	_, err := backend.Register(t.Context(), r)
	wantReason(t, err, registry.AdoptionRequired)
	if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
		t.Fatal(err)
	}
	if _, after := server.Manifest(t, r.Name, "1.0"); after != before {
		t.Fatalf("it was\n%s\nand is\n%s", before, after)
	}
}

func TestOCIVersionsThatAreNoTags(t *testing.T) {
	t.Parallel()
	backend, server := ociBackend(t, servers.OCIOptions{})
	seen := map[string]string{}
	for _, version := range []string{"1.0", "1 0", "1+0", "v1/0", "adoption-1", strings.Repeat("9", 300), "größer", "."} {
		entry := mustRegister(t, backend, llama(version))
		if other, taken := seen[entry.Version]; taken {
			t.Errorf("%q and %q have the tag %q", version, other, entry.Version)
		}
		seen[entry.Version] = version
	}
	if entries := server.Entries(t, "llama"); len(entries) != len(seen) {
		t.Errorf("there are %d entries of %d", len(entries), len(seen))
	}
	bad := llama("1.0")
	bad.Name = "Upper/Case"
	_, err := backend.Register(t.Context(), bad)
	wantReason(t, err, registry.Invalid)
}
