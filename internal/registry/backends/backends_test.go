package backends

import (
	"net/http"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

func TestEveryKindIsMade(t *testing.T) {
	for kind := range factories {
		config := registry.Config{URL: "https://registry.example.com/models", HTTPClient: &http.Client{}, Cluster: "c",
			Auth: registry.Auth{SigningKey: []byte("0123456789abcdef0123456789abcdef")}}
		if backend, err := New(kind, config); err != nil || backend == nil {
			t.Errorf("%s: %v, %v", kind, backend, err)
		}
		config.URL = "://"
		if backend, err := New(kind, config); registry.AsError(err) == nil || registry.AsError(err).Reason != registry.Invalid || backend != nil {
			t.Errorf("%s without a usable URL: %v, %v", kind, backend, err)
		}
	}
}

func TestAnUnknownKindIsInvalid(t *testing.T) {
	if _, err := New("Git", registry.Config{}); registry.AsError(err).Reason != registry.Invalid {
		t.Errorf("error = %v", err)
	}
}
