package inspect

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

const imageManifest = "application/vnd.oci.image.manifest.v1+json"

// OCI looks into a docker-registry by its API, and into its storage for what no tag leads to.
type OCI struct {
	servers.OCI
	// Path is before the names of repositories, or empty.
	Path string
}

func (s OCI) do(t testing.TB, method, path, contentType, body string) (int, http.Header, string) {
	t.Helper()
	address := path
	if !strings.HasPrefix(path, "http") {
		address = s.URL + "/v2/" + path
	}
	request := &http.Request{Header: http.Header{"Accept": {imageManifest}}}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	s.auth(t, address).Apply(request)
	status, header, raw := servers.Do(t, method, address, request.Header, body)
	return status, header, string(raw)
}

// endOfRepository is what follows the name of a repository in an address.
var endOfRepository = regexp.MustCompile(`/(manifests|blobs|tags)/.*`)

func (s OCI) auth(t testing.TB, address string) registry.Auth {
	t.Helper()
	if s.Tokens == nil {
		return registry.Auth{Username: s.User, Password: s.Password}
	}
	_, path, _ := strings.Cut(address, "/v2/")
	return registry.Auth{Token: s.Tokens.For(t, endOfRepository.ReplaceAllString(path, ""))}
}

func (s OCI) repository(name string) string { return strings.TrimPrefix(s.Path+"/"+name, "/") }

// Manifest returns what a tag leads to, with the status of the answer.
func (s OCI) Manifest(t testing.TB, name, tag string) (int, string) {
	t.Helper()
	status, _, raw := s.do(t, http.MethodGet, s.repository(name)+"/manifests/"+tag, "", "")
	return status, raw
}

// Put pushes a manifest to a tag.
func (s OCI) Put(t testing.TB, name, tag, manifest string) {
	t.Helper()
	if status, _, said := s.do(t, http.MethodPut, s.repository(name)+"/manifests/"+tag, imageManifest, manifest); status != http.StatusCreated {
		t.Fatalf("%d: %s", status, said)
	}
}

// Blob pushes a blob and returns its descriptor.
func (s OCI) Blob(t testing.TB, name, content string) string {
	t.Helper()
	_, header, _ := s.do(t, http.MethodPost, s.repository(name)+"/blobs/uploads/", "", "")
	location, err := url.Parse(header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	query := location.Query()
	query.Set("digest", digest(content))
	location.RawQuery = query.Encode()
	if status, _, said := s.do(t, http.MethodPut, location.String(), "application/octet-stream", content); status != http.StatusCreated {
		t.Fatalf("%d: %s", status, said)
	}
	return fmt.Sprintf(`{"mediaType":"application/vnd.cncf.model.weight.v1.raw","digest":%q,"size":%d}`, digest(content), len(content))
}

// Add is conformance.Server's.
func (s OCI) Add(t testing.TB, name, version string, tags map[string]string) {
	t.Helper()
	layer := s.Blob(t, name, "weights of "+name+version)
	annotations, err := json.Marshal(tags)
	if err != nil {
		t.Fatal(err)
	}
	s.Put(t, name, version, fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":%s,"layers":[%s],"annotations":%s}`,
		imageManifest, layer, layer, annotations))
}

// Entries is conformance.Server's.
func (s OCI) Entries(t testing.TB, name string) []conformance.Entry {
	t.Helper()
	annotations := map[string]map[string]string{}
	for _, tag := range s.tags(t, name) {
		var manifest struct{ Annotations map[string]string }
		_, raw := s.Manifest(t, name, tag)
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

func (s OCI) tags(t testing.TB, name string) []string {
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
func (s OCI) Dump(t testing.TB, prefix string) string {
	t.Helper()
	links, err := filepath.Glob(filepath.Join(s.Storage, "docker/registry/v2/repositories", s.Path, prefix+"*", "_manifests", "*", "*", "*", "link"))
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

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256:" + hex.EncodeToString(sum[:])
}
