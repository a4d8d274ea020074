package inspect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

// MLflow looks into MLflow by its API.
type MLflow struct {
	URL, Workspace string
	// Auth is the administrator's, where MLflow has users.
	Auth registry.Auth
	// ShareWith is a user who gets permission for all that Add makes, or empty.
	ShareWith string
}

// MLflowTag is a tag as MLflow has it.
type MLflowTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// MLflowVersion is a version as MLflow has it.
type MLflowVersion struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Tags    []MLflowTag `json:"tags"`
}

// Call sends a request that must succeed, and decodes the answer.
func (s MLflow) Call(t testing.TB, method, path string, body, into any) {
	t.Helper()
	s.call(t, method, "2.0/mlflow/"+path, body, into)
}

func (s MLflow) call(t testing.TB, method, path string, body, into any) {
	t.Helper()
	raw := ""
	if body != nil {
		sent, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(sent)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if s.Workspace != "" {
		header.Set("X-Mlflow-Workspace", s.Workspace)
	}
	s.Auth.Apply(&http.Request{Header: header})
	status, _, said := servers.Do(t, method, s.URL+"/api/"+path, header, raw)
	if status/100 != 2 {
		t.Fatalf("%s: %d %s", path, status, said)
	}
	if into != nil {
		if err := json.Unmarshal(said, into); err != nil {
			t.Fatal(err)
		}
	}
}

// pages calls a search until it has no more.
func (s MLflow) pages(t testing.TB, path string, query url.Values, list string, each func(json.RawMessage)) {
	t.Helper()
	for {
		page := map[string]json.RawMessage{}
		s.Call(t, http.MethodGet, path+"?"+query.Encode(), nil, &page)
		var items []json.RawMessage
		if raw := page[list]; raw != nil {
			if err := json.Unmarshal(raw, &items); err != nil {
				t.Fatal(err)
			}
		}
		for _, item := range items {
			each(item)
		}
		next := strings.Trim(string(page["next_page_token"]), `"`)
		if next == "" {
			return
		}
		query.Set("page_token", next)
	}
}

// Versions are all versions of a model.
func (s MLflow) Versions(t testing.TB, name string) []MLflowVersion {
	t.Helper()
	var all []MLflowVersion
	s.pages(t, "model-versions/search", url.Values{"filter": {"name = '" + name + "'"}}, "model_versions", func(raw json.RawMessage) {
		var v MLflowVersion
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	})
	return all
}

// Entries is conformance.Server's.
func (s MLflow) Entries(t testing.TB, name string) []conformance.Entry {
	t.Helper()
	var entries []conformance.Entry
	for _, v := range s.Versions(t, name) {
		entry := conformance.Entry{Version: v.Version, Tags: map[string]string{}}
		for _, tag := range v.Tags {
			entry.Tags[tag.Key] = tag.Value
			if strings.HasPrefix(tag.Key, registry.MarkPrefix+"serving.") {
				var serving struct{ URL string }
				if err := json.Unmarshal([]byte(tag.Value), &serving); err != nil {
					t.Fatal(err)
				}
				entry.Servings = append(entry.Servings, serving.URL)
			}
		}
		if version := entry.Tags[registry.MarkVersion]; version != "" {
			entry.Version = version
		}
		entry.Archived = registry.ReadMarks(entry.Tags).Archived
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b conformance.Entry) int { return strings.Compare(a.Version, b.Version) })
	return entries
}

// Add is conformance.Server's.
func (s MLflow) Add(t testing.TB, name, _ string, tags map[string]string) {
	t.Helper()
	list := []MLflowTag{}
	for key, value := range tags {
		list = append(list, MLflowTag{key, value})
	}
	if len(s.Versions(t, name)) == 0 {
		s.Call(t, http.MethodPost, "registered-models/create", map[string]any{"name": name}, nil)
		if s.ShareWith != "" {
			s.Allow(t, s.ShareWith, name, "MANAGE")
		}
	}
	s.Call(t, http.MethodPost, "model-versions/create", map[string]any{"name": name, "source": "s3://bucket/" + name, "tags": list}, nil)
}

// Dump is conformance.Server's.
func (s MLflow) Dump(t testing.TB, prefix string) string {
	t.Helper()
	var dump strings.Builder
	filter := "name LIKE '" + prefix + "%'"
	for _, search := range []struct{ path, list string }{
		{"registered-models/search", "registered_models"}, {"model-versions/search", "model_versions"},
	} {
		s.pages(t, search.path, url.Values{"filter": {filter}}, search.list, func(raw json.RawMessage) {
			var item map[string]any
			if err := json.Unmarshal(raw, &item); err != nil {
				t.Fatal(err)
			}
			delete(item, "latest_versions") // they are listed below
			delete(item, "last_updated_timestamp")
			sorted, err := json.Marshal(item)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&dump, "%s\n", sorted)
		})
	}
	return dump.String()
}
