package registries

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/oci"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

const imageManifest = "application/vnd.oci.image.manifest.v1+json"

func newOCI(config registry.Config) (registry.Backend, error) { return oci.New(config) }

func TestOCI(t *testing.T) {
	t.Parallel()
	server := servers.StartOCI(t, servers.OCIOptions{Credentials: true})
	conformance.Run(t, conformance.Target{
		New:             newOCI,
		Config:          registry.Config{URL: server.URL + "/models", Auth: registry.Auth{Username: server.User, Password: server.Password}},
		Server:          ociServer{server, "models"},
		ListsNoServings: true,
		Many:            200,
	})
}

// ociBackend is a backend for a registry of its own.
func ociBackend(t *testing.T, options servers.OCIOptions) (registry.Backend, ociServer) {
	t.Helper()
	server := servers.StartOCI(t, options)
	client, err := registry.NewHTTPClient(registry.Transport{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := oci.New(registry.Config{URL: server.URL, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	return backend, ociServer{server, ""}
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
	_, raw := server.manifest(t, r.Name, "1.0")
	server.put(t, r.Name, "production", raw)

	r.Tags = nil
	mustRegister(t, backend, r)
	if status, kept := server.manifest(t, r.Name, "production"); status != http.StatusOK || kept != raw {
		t.Fatalf("after a change, the other tag leads to %d %s", status, kept)
	}
	_, raw = server.manifest(t, r.Name, "1.0")
	server.put(t, r.Name, "production", raw)
	if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
		t.Fatal(err)
	}
	if status, kept := server.manifest(t, r.Name, "production"); status != http.StatusOK || kept != raw {
		t.Fatalf("after the deletion, the other tag leads to %d %s", status, kept)
	}
	if status, _ := server.manifest(t, r.Name, "1.0"); status != http.StatusNotFound {
		t.Fatalf("the operator's tag is still there: %d", status)
	}
}

// A manifest with weights is nobody's, also if it was made from the operator's and has its annotations.
func TestOCIManifestsWithWeightsAreNeverTheOperators(t *testing.T) {
	t.Parallel()
	backend, server := ociBackend(t, servers.OCIOptions{})
	r := llama("1.0")
	mustRegister(t, backend, r)
	_, raw := server.manifest(t, r.Name, "1.0")
	weights := server.blob(t, r.Name, "the weights")
	server.put(t, r.Name, "1.0", strings.Replace(raw, `"layers":[`, `"layers":[`+weights+`,`, 1))
	_, before := server.manifest(t, r.Name, "1.0")
	_, err := backend.Register(t.Context(), r)
	wantReason(t, err, registry.AdoptionRequired)
	if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
		t.Fatal(err)
	}
	if _, after := server.manifest(t, r.Name, "1.0"); after != before {
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

// ociServer looks into a docker-registry by its API, and into its storage for what no tag leads to.
type ociServer struct {
	servers.OCI
	path string
}

func (s ociServer) do(t testing.TB, method, path, contentType, body string) (int, http.Header, string) {
	t.Helper()
	address := path
	if !strings.HasPrefix(path, "http") {
		address = s.URL + "/v2/" + path
	}
	request := &http.Request{Header: http.Header{"Accept": {imageManifest}}}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	registry.Auth{Username: s.User, Password: s.Password}.Apply(request)
	status, header, raw := servers.Do(t, method, address, request.Header, body)
	return status, header, string(raw)
}

func (s ociServer) repository(name string) string { return strings.TrimPrefix(s.path+"/"+name, "/") }

func (s ociServer) manifest(t testing.TB, name, tag string) (int, string) {
	t.Helper()
	status, _, raw := s.do(t, http.MethodGet, s.repository(name)+"/manifests/"+tag, "", "")
	return status, raw
}

func (s ociServer) put(t testing.TB, name, tag, manifest string) {
	t.Helper()
	if status, _, said := s.do(t, http.MethodPut, s.repository(name)+"/manifests/"+tag, imageManifest, manifest); status != http.StatusCreated {
		t.Fatalf("%d: %s", status, said)
	}
}

// blob pushes a blob and returns its descriptor.
func (s ociServer) blob(t testing.TB, name, content string) string {
	t.Helper()
	_, header, _ := s.do(t, http.MethodPost, s.repository(name)+"/blobs/uploads/", "", "")
	location, err := url.Parse(header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	query := location.Query()
	query.Set("digest", digestOf(content))
	location.RawQuery = query.Encode()
	if status, _, said := s.do(t, http.MethodPut, location.String(), "application/octet-stream", content); status != http.StatusCreated {
		t.Fatalf("%d: %s", status, said)
	}
	return fmt.Sprintf(`{"mediaType":"application/vnd.cncf.model.weight.v1.raw","digest":%q,"size":%d}`, digestOf(content), len(content))
}

func (s ociServer) Add(t testing.TB, name, version string, tags map[string]string) {
	t.Helper()
	layer := s.blob(t, name, "weights of "+name+version)
	annotations, err := json.Marshal(tags)
	if err != nil {
		t.Fatal(err)
	}
	s.put(t, name, version, fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":%s,"layers":[%s],"annotations":%s}`,
		imageManifest, layer, layer, annotations))
}

func (s ociServer) Entries(t testing.TB, name string) []conformance.Entry {
	t.Helper()
	annotations := map[string]map[string]string{}
	for _, tag := range s.tags(t, name) {
		var manifest struct{ Annotations map[string]string }
		_, raw := s.manifest(t, name, tag)
		if err := json.Unmarshal([]byte(raw), &manifest); err != nil {
			t.Fatal(err)
		}
		annotations[tag] = manifest.Annotations
		if annotations[tag] == nil {
			annotations[tag] = map[string]string{}
		}
	}
	// An adoption stands beside what it is of.
	for tag, beside := range annotations {
		if of := beside[registry.MarkPrefix+"tag"]; strings.HasPrefix(tag, "adoption-") && of != "" {
			maps.Copy(annotations[of], beside)
			delete(annotations, tag)
		}
	}
	var entries []conformance.Entry
	for _, tag := range slices.Sorted(maps.Keys(annotations)) {
		entry := conformance.Entry{Version: tag, Tags: annotations[tag], Archived: registry.ReadMarks(annotations[tag]).Archived}
		if version := entry.Tags[registry.MarkVersion]; version != "" {
			entry.Version = version
		}
		entries = append(entries, entry)
	}
	return entries
}

func (s ociServer) tags(t testing.TB, name string) []string {
	t.Helper()
	var list struct{ Tags []string }
	if status, _, raw := s.do(t, http.MethodGet, s.repository(name)+"/tags/list?n=1000", "", ""); status == http.StatusOK {
		if err := json.Unmarshal([]byte(raw), &list); err != nil {
			t.Fatal(err)
		}
	}
	return list.Tags
}

// Dump lists all tags and manifests, also those that no tag leads to. An empty repository, which a registry cannot delete, is
// nothing.
func (s ociServer) Dump(t testing.TB, prefix string) string {
	t.Helper()
	links, err := filepath.Glob(filepath.Join(s.Storage, "docker/registry/v2/repositories", s.path, prefix+"*", "_manifests", "*", "*", "*", "link"))
	if err != nil {
		t.Fatal(err)
	}
	var dump strings.Builder
	for _, link := range links {
		raw, err := os.ReadFile(link)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&dump, "%s %s\n", strings.TrimPrefix(link, s.Storage), raw)
	}
	return dump.String()
}
