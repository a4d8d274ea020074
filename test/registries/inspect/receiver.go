package inspect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

// Receiver looks into the example receiver by its page of entries.
type Receiver struct{ EntriesURL string }

type received struct {
	ID      int    `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Key     string `json:"key,omitempty"`
	Owner   *struct {
		Cluster, Namespace, Name, UID string
	} `json:"owner"`
	Origin   string            `json:"origin"`
	State    string            `json:"state"`
	Tags     map[string]string `json:"tags"`
	Servings []struct{ URL string }
	Changes  int `json:"changes"`
}

func (s Receiver) all(t testing.TB) (list []received, raw []json.RawMessage) {
	t.Helper()
	_, _, body := servers.Do(t, http.MethodGet, s.EntriesURL, nil, "")
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		t.Fatal(err)
	}
	return list, raw
}

// Entries is conformance.Server's.
func (s Receiver) Entries(t testing.TB, name string) []conformance.Entry {
	t.Helper()
	list, _ := s.all(t)
	var entries []conformance.Entry
	for _, r := range list {
		if r.Name != name {
			continue
		}
		entry := conformance.Entry{Version: r.Version, Tags: r.Tags, Archived: r.State == "archived"}
		if r.Owner != nil {
			for mark, value := range map[string]string{
				registry.MarkKey: r.Key, registry.MarkCluster: r.Owner.Cluster, registry.MarkNamespace: r.Owner.Namespace,
				registry.MarkName: r.Owner.Name, registry.MarkUID: r.Owner.UID, registry.MarkOrigin: r.Origin,
			} {
				entry.Tags[mark] = value
			}
		}
		for _, serving := range r.Servings {
			entry.Servings = append(entry.Servings, serving.URL)
		}
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b conformance.Entry) int { return strings.Compare(a.Version, b.Version) })
	return entries
}

// Add is conformance.Server's.
func (s Receiver) Add(t testing.TB, name, version string, tags map[string]string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"name": name, "version": version, "tags": tags})
	if err != nil {
		t.Fatal(err)
	}
	if status, _, said := servers.Do(t, http.MethodPut, s.EntriesURL, nil, string(body)); status != http.StatusOK {
		t.Fatalf("%d: %s", status, said)
	}
}

// Dump is conformance.Server's.
func (s Receiver) Dump(t testing.TB, prefix string) string {
	t.Helper()
	list, raw := s.all(t)
	var dump strings.Builder
	for i, r := range list {
		if strings.HasPrefix(r.Name, prefix) {
			fmt.Fprintf(&dump, "%s\n", raw[i])
		}
	}
	return dump.String()
}
