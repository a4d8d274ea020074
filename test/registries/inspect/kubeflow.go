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

// Kubeflow looks into a Kubeflow Model Registry by its API.
type Kubeflow struct {
	URL string
	// Live makes a dump leave out what is archived, and tell what is deployed: the registry deletes nothing.
	Live bool
}

const archived = "ARCHIVED"

type kubeflowResource struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	State        string `json:"state"`
	VersionID    string `json:"modelVersionId"`
	DesiredState string `json:"desiredState"`
	Properties   map[string]struct {
		Value string `json:"string_value"`
	} `json:"customProperties"`
}

func (s Kubeflow) call(t testing.TB, method, path string, body, into any) int {
	t.Helper()
	sent := []byte{}
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	status, _, said := servers.Do(t, method, s.URL+"/api/model_registry/v1alpha3/"+path, http.Header{"Content-Type": {"application/json"}}, string(sent))
	if status >= 300 && status != http.StatusNotFound {
		t.Fatalf("%s: %d %s", path, status, said)
	}
	if into != nil && status != http.StatusNotFound {
		if err := json.Unmarshal(said, into); err != nil {
			t.Fatal(err)
		}
	}
	return status
}

// list returns all items of a list, decoded and as they are.
func (s Kubeflow) list(t testing.TB, path string) (items []kubeflowResource, raw []json.RawMessage) {
	t.Helper()
	query := url.Values{"pageSize": {"200"}}
	for {
		var page struct {
			Items []json.RawMessage
			Next  string `json:"nextPageToken"`
		}
		s.call(t, http.MethodGet, path+"?"+query.Encode(), nil, &page)
		for _, one := range page.Items {
			var item kubeflowResource
			if err := json.Unmarshal(one, &item); err != nil {
				t.Fatal(err)
			}
			items, raw = append(items, item), append(raw, one)
		}
		if page.Next == "" {
			return items, raw
		}
		query.Set("nextPageToken", page.Next)
	}
}

func (s Kubeflow) model(t testing.TB, name string) string {
	t.Helper()
	var model kubeflowResource
	s.call(t, http.MethodGet, "registered_model?"+url.Values{"name": {name}}.Encode(), nil, &model)
	return model.ID
}

// Entries is conformance.Server's.
func (s Kubeflow) Entries(t testing.TB, name string) []conformance.Entry {
	t.Helper()
	model := s.model(t, name)
	if model == "" {
		return nil
	}
	versions, _ := s.list(t, "registered_models/"+model+"/versions")
	var entries []conformance.Entry
	for _, v := range versions {
		entry := conformance.Entry{Version: v.Name, Tags: map[string]string{}, Archived: v.State == archived}
		for property, value := range v.Properties {
			entry.Tags[property] = value.Value
		}
		entry.Servings = s.servings(t, v.ID, registry.ReadMarks(entry.Tags))
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b conformance.Entry) int { return strings.Compare(a.Version, b.Version) })
	return entries
}

// servings are the addresses of the inference services of a version that are deployed.
func (s Kubeflow) servings(t testing.TB, version string, marked registry.Marked) []string {
	t.Helper()
	var environment kubeflowResource
	name := url.Values{"name": {"aimodel-operator/" + marked.Owner.Cluster}}
	if s.call(t, http.MethodGet, "serving_environment?"+name.Encode(), nil, &environment) == http.StatusNotFound {
		return nil
	}
	services, _ := s.list(t, "serving_environments/"+environment.ID+"/inference_services")
	var urls []string
	for _, service := range services {
		if service.VersionID == version && service.DesiredState == "DEPLOYED" {
			urls = append(urls, service.Properties[registry.MarkPrefix+"url"].Value)
		}
	}
	return urls
}

// Add is conformance.Server's.
func (s Kubeflow) Add(t testing.TB, name, version string, tags map[string]string) {
	t.Helper()
	properties := map[string]any{"score": map[string]any{"metadataType": "MetadataDoubleValue", "double_value": 0.5}}
	for key, value := range tags {
		properties[key] = map[string]string{"metadataType": "MetadataStringValue", "string_value": value}
	}
	var model kubeflowResource
	s.call(t, http.MethodPost, "registered_models", map[string]any{"name": name}, &model)
	s.call(t, http.MethodPost, "registered_models/"+model.ID+"/versions", map[string]any{
		"name": version, "registeredModelId": model.ID, "description": "made by hand", "customProperties": properties,
	}, nil)
}

// Dump is conformance.Server's.
func (s Kubeflow) Dump(t testing.TB, prefix string) string {
	t.Helper()
	var dump strings.Builder
	tell := func(indent string, item kubeflowResource, raw json.RawMessage) bool {
		if s.Live && item.State == archived {
			return false
		}
		fmt.Fprintf(&dump, "%s%s\n", indent, raw)
		return true
	}
	models, raw := s.list(t, "registered_models")
	for i, model := range models {
		if !strings.HasPrefix(model.Name, prefix) {
			continue
		}
		told := tell("", model, raw[i])
		versions, rawVersions := s.list(t, "registered_models/"+model.ID+"/versions")
		for j, version := range versions {
			if tell("  ", version, rawVersions[j]) && !told {
				fmt.Fprintf(&dump, "  is a version of model %q, which is archived\n", model.Name)
			}
		}
	}
	if s.Live {
		services, raw := s.list(t, "inference_services")
		for i, service := range services {
			if service.DesiredState == "DEPLOYED" {
				tell("deployed: ", service, raw[i])
			}
		}
	}
	return dump.String()
}
