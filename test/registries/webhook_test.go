package registries

import (
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/webhook"
	"github.com/aimodel-operator/aimodel-operator/test/registries/conformance"
	"github.com/aimodel-operator/aimodel-operator/test/registries/inspect"
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
		Server:      inspect.Receiver{EntriesURL: receiver.EntriesURL},
		AlwaysSends: true,
		Many:        200,
	})
}

// A request that is not signed with the receiver's key is refused, also where the bearer token is right.
func TestWebhookSignedWithAnotherKey(t *testing.T) {
	t.Parallel()
	receiver := servers.StartReceiver(t)
	backend := connect(t, webhook.New, registry.Config{
		URL: receiver.URL, Auth: registry.Auth{Token: receiver.Token, SigningKey: []byte("another key")},
	})
	if err := backend.Check(t.Context()); registry.AsError(err) == nil || registry.AsError(err).Reason != registry.Unauthorized {
		t.Fatalf("got %v", err)
	}
}
