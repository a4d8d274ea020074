package servers

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Receiver is the example receiver of webhooks.
type Receiver struct {
	*Process
	// URL takes events, and EntriesURL shows and adds entries.
	URL, EntriesURL string
	// Secret signs events, and Token is the bearer token.
	Secret, Token string
}

// StartReceiver starts test/webhook-receiver, with variables of its environment, if there are any.
func StartReceiver(t testing.TB, env ...string) Receiver {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, "webhook", "there is no node; on Debian: apt-get install nodejs npm, then make registries")
	}
	dir := filepath.Join(root(), "test", "webhook-receiver")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "standardwebhooks")); err != nil {
		missing(t, "webhook", "the packages of test/webhook-receiver are not installed; make registries does it")
	}
	on := port(t)
	base := fmt.Sprintf("http://127.0.0.1:%d", on)
	r := Receiver{
		URL: base + "/events", EntriesURL: base + "/entries", Token: "the-bearer-token-of-the-test",
		Secret: "whsec_" + base64.StdEncoding.EncodeToString([]byte("the signing key of the test, of some length")),
	}
	r.Process = run(t, r.EntriesURL, func() *exec.Cmd {
		cmd := exec.Command(node, "server.js")
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), env...), "WEBHOOK_SECRET="+r.Secret, "WEBHOOK_TOKEN="+r.Token, fmt.Sprintf("PORT=%d", on), "INSPECT=1", "END_WITH_STDIN=1")
		return cmd
	})
	return r
}
