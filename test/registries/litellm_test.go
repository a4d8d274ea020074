package registries

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/webhook"
	"github.com/aimodel-operator/aimodel-operator/test/registries/servers"
)

// A registered model that is served is a model of the gateway, and is none when its registration ends.
func TestWebhookToLiteLLM(t *testing.T) {
	t.Parallel()
	address, key := os.Getenv("LITELLM_URL"), os.Getenv("LITELLM_KEY")
	if address == "" || key == "" {
		t.Skip("NOT TESTED against a real LiteLLM: set LITELLM_URL and LITELLM_KEY to a proxy that stores models in its database")
	}
	receiver := servers.StartReceiver(t, "LITELLM_URL="+address, "LITELLM_KEY="+key)
	backend := connect(t, webhook.New, registry.Config{
		URL: receiver.URL, Cluster: "cluster-1",
		Auth: registry.Auth{Token: receiver.Token, SigningKey: []byte(receiver.Secret)},
	})
	r := llama("1.0")
	r.Name = "of-the-test"
	r.Key = registry.NewKey(r.Owner, r.Name, r.Version)
	offered := func() bool {
		var list struct{ Data []struct{ ID string } }
		status, _, body := servers.Do(t, http.MethodGet, address+"/v1/models", http.Header{"Authorization": {"Bearer " + key}}, "")
		if err := json.Unmarshal(body, &list); status != http.StatusOK || err != nil {
			t.Fatalf("%d %s: %v", status, body, err)
		}
		return slices.ContainsFunc(list.Data, func(model struct{ ID string }) bool { return model.ID == r.Name })
	}
	if err := backend.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustRegister(t, backend, r)
	if offered() {
		t.Error("it is offered before it is served")
	}
	for _, at := range []string{"http://127.0.0.1:1", "http://127.0.0.1:2/v1"} {
		r.Servings = []registry.Serving{{Kind: "InferenceService", Namespace: "team-a", Name: "llama", URL: at, Ready: true}}
		if entry := mustRegister(t, backend, r); entry.ID != r.Key {
			t.Errorf("the entry is %+v", entry)
		}
		if !offered() {
			t.Errorf("it is not offered at %s", at)
		}
	}
	for range 2 {
		if err := backend.Unregister(t.Context(), r, registry.Delete); err != nil {
			t.Fatal(err)
		}
		if offered() {
			t.Error("it is still offered")
		}
	}
}
