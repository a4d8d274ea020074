package mlflow

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// A server from before there were workspaces does not look at the header, and would register in the one place that it has.
func TestNothingIsCreatedWhereWorkspacesAreIgnored(t *testing.T) {
	for name, info := range map[string]string{"no such page": "", "not enabled": `{"store_type":"SqlStore","workspaces_enabled":false}`} {
		var writes []string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method != http.MethodGet:
				writes = append(writes, r.URL.Path)
			case !strings.HasSuffix(r.URL.Path, "/server-info"):
				_, _ = io.WriteString(w, "{}")
			case info == "":
				http.NotFound(w, r)
			default:
				_, _ = io.WriteString(w, info)
			}
		}))
		backend, err := New(registry.Config{URL: server.URL, HTTPClient: server.Client(), Workspace: "team-a"})
		if err != nil {
			t.Fatal(err)
		}
		_, registering := backend.Register(t.Context(), registry.Registration{Name: "llama", Version: "1.0"})
		for _, err := range []error{registering, backend.Check(t.Context())} {
			if told := registry.AsError(err); told == nil || told.Reason != registry.Invalid || !strings.Contains(err.Error(), "has no workspaces") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if len(writes) > 0 {
			t.Errorf("%s: it wrote %v", name, writes)
		}
		server.Close()
	}
}
