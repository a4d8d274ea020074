package registries

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/webhook"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

func TestWebhook(t *testing.T) {
	t.Parallel()
	receiver := servers.StartReceiver(t)
	conformance.Run(t, conformance.Target{
		New: func(config registry.Config) (registry.Backend, error) { return webhook.New(config) },
		Config: registry.Config{
			URL: receiver.URL, Cluster: "cluster-1",
			Auth: registry.Auth{Token: receiver.Token, SigningKey: []byte(receiver.Secret)},
		},
		Server:      receiverServer{receiver.EntriesURL},
		AlwaysSends: true,
		Many:        200,
	})
}

// A request that is not signed with the receiver's key is refused, also where the bearer token is right.
func TestWebhookSignedWithAnotherKey(t *testing.T) {
	t.Parallel()
	receiver := servers.StartReceiver(t)
	client, err := registry.NewHTTPClient(registry.Transport{})
	if err != nil {
		t.Fatal(err)
	}
	backend, err := webhook.New(registry.Config{
		URL: receiver.URL, HTTPClient: client, Auth: registry.Auth{Token: receiver.Token, SigningKey: []byte("another key")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := backend.Check(t.Context()); registry.AsError(err) == nil || registry.AsError(err).Reason != registry.Unauthorized {
		t.Fatalf("got %v", err)
	}
}

// receiverServer looks into the example receiver by its page of entries.
type receiverServer struct{ url string }

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

func (s receiverServer) all(t testing.TB) (list []received, raw []json.RawMessage) {
	t.Helper()
	_, _, body := servers.Do(t, http.MethodGet, s.url, nil, "")
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		t.Fatal(err)
	}
	return list, raw
}

func (s receiverServer) Entries(t testing.TB, name string) []conformance.Entry {
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

func (s receiverServer) Add(t testing.TB, name, version string, tags map[string]string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"name": name, "version": version, "tags": tags})
	if err != nil {
		t.Fatal(err)
	}
	if status, _, said := servers.Do(t, http.MethodPut, s.url, nil, string(body)); status != http.StatusOK {
		t.Fatalf("%d: %s", status, said)
	}
}

func (s receiverServer) Dump(t testing.TB, prefix string) string {
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
