package registries

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/mlflow"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/inspect"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

func TestMLflow(t *testing.T) {
	t.Parallel()
	server := servers.StartMLflow(t)
	conformance.Run(t, conformance.Target{
		New:    func(config registry.Config) (registry.Backend, error) { return mlflow.New(config) },
		Config: registry.Config{URL: server.URL},
		Server: inspect.MLflow{URL: server.URL},
		ByHand: "1", // MLflow counts
		Coarse: true,
		Many:   40,
	})
	t.Run("more", func(t *testing.T) { mlflowAlone(t, server) })
}

// mlflowAlone tests what no other registry has.
func mlflowAlone(t *testing.T, server servers.MLflow) {
	backend := mlflowAs(t, registry.Auth{}, server.URL, "")
	look := inspect.MLflow{URL: server.URL}

	t.Run("a registered model of others gets a version only when asked, and stays", func(t *testing.T) {
		r := llama("1.0")
		r.Name = "of-others"
		look.Add(t, r.Name, "1", nil)
		before := look.Dump(t, r.Name)
		_, err := backend.Register(t.Context(), r)
		wantReason(t, err, registry.AdoptionRequired)
		r.Adoption = registry.AdoptIfUnowned
		if entry := mustRegister(t, backend, r); !entry.Created || entry.Version != "2" {
			t.Errorf("the entry is %+v", entry)
		}
		if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
			t.Fatal(err)
		}
		if after := look.Dump(t, r.Name); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	})
	t.Run("a registered model of the operator's stays while others have a version in it", func(t *testing.T) {
		r := llama("1.0")
		r.Name = "with-others"
		mustRegister(t, backend, r)
		look.Add(t, r.Name, "2", nil)
		if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
			t.Fatal(err)
		}
		if left := look.Versions(t, r.Name); len(left) != 1 || left[0].Version != "2" {
			t.Errorf("left is %+v", left)
		}
	})
	t.Run("a source that MLflow refuses is a tag", func(t *testing.T) {
		for i, uri := range []string{"", "https://weights.example.com/llama", "pvc://claim/llama", "s3://bucket/llama", "s3://bucket", "/local"} {
			r := llama("1.0")
			r.Name, r.SourceURI = fmt.Sprintf("source-%d", i), uri
			mustRegister(t, backend, r)
			if tags := look.Entries(t, r.Name)[0].Tags; tags[registry.MarkPrefix+"source"] != uri {
				t.Errorf("%q: the tags are %v", uri, tags)
			}
		}
	})
	t.Run("a version that was created twice is one again, the first", func(t *testing.T) {
		r := llama("1.0")
		r.Name = "twice"
		mustRegister(t, backend, r)
		first := look.Versions(t, r.Name)[0]
		look.Call(t, http.MethodPost, "model-versions/create", map[string]any{"name": r.Name, "source": "s3://b/x", "tags": first.Tags}, nil)
		entry := mustRegister(t, backend, r)
		if left := look.Versions(t, r.Name); len(left) != 1 || left[0].Version != "1" || entry.Version != "1" {
			t.Errorf("left is %+v", left)
		}
	})
	t.Run("more versions than a page holds", func(t *testing.T) {
		r := llama("1.0")
		r.Name = "pages"
		mustRegister(t, backend, r)
		tags := look.Versions(t, r.Name)[0].Tags
		for range 230 {
			look.Call(t, http.MethodPost, "model-versions/create", map[string]any{"name": r.Name, "source": "s3://b/x", "tags": tags}, nil)
		}
		if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
			t.Fatal(err)
		}
		if dump := look.Dump(t, r.Name); dump != "" {
			t.Errorf("left is %s", dump)
		}
	})
	t.Run("a renamed registered model is found again", func(t *testing.T) {
		r := llama("1.0")
		r.Name = "before"
		mustRegister(t, backend, r)
		look.Call(t, http.MethodPost, "registered-models/rename", map[string]any{"name": "before", "new_name": "after"}, nil)
		if entry := mustRegister(t, backend, r); entry.Name != "after" {
			t.Errorf("the entry is %+v", entry)
		}
		if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
			t.Fatal(err)
		}
		if dump := look.Dump(t, ""); strings.Contains(dump, `"after"`) || strings.Contains(dump, `"before"`) {
			t.Errorf("left is %s", dump)
		}
	})
	t.Run("a host name that MLflow does not answer to is no matter of credentials", func(t *testing.T) {
		err := mlflowAs(t, registry.Auth{}, strings.Replace(server.URL, "127.0.0.1", "registry.127.0.0.1.example", 1), "").Check(t.Context())
		wantReason(t, err, registry.Unreachable) // there is no such name
		client := &http.Client{Transport: otherHost{}}
		backend, err := mlflow.New(registry.Config{URL: server.URL, HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		wantReason(t, backend.Check(t.Context()), registry.Invalid)
	})
	t.Run("a workspace on a server without them", func(t *testing.T) {
		wantReason(t, mlflowAs(t, registry.Auth{}, server.URL, "team-a").Check(t.Context()), registry.Invalid)
	})
}

type otherHost struct{}

func (otherHost) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host = "mlflow.example.com"
	return http.DefaultTransport.RoundTrip(r)
}
