package registry

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// throughProxy, set, makes this process ask for the addresses in it, and end. Go looks at the variables of a proxy once in the
// life of a process, so each case needs one of its own.
const throughProxy = "REGISTRY_TEST_ADDRESSES"

func TestRegistriesAreReachedThroughTheProxy(t *testing.T) {
	if addresses := os.Getenv(throughProxy); addresses != "" {
		client, err := NewHTTPClient(Transport{Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for address := range strings.SplitSeq(addresses, " ") {
			if err := get(t, client, address); err != nil {
				t.Logf("%s: %v", address, err)
			}
		}
		return
	}
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.Host)
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer proxy.Close()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), throughProxy+
		"=http://registry.invalid/ https://registry.invalid/ http://inside.invalid/ http://169.254.169.254/ http://[fe80::1]/",
		"HTTP_PROXY="+proxy.URL, "HTTPS_PROXY="+proxy.URL, "NO_PROXY=inside.invalid", "http_proxy=", "https_proxy=", "no_proxy=")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	if got := strings.Join(asked, ", "); got != "GET registry.invalid, CONNECT registry.invalid:443" {
		t.Errorf("the proxy was asked for %q:\n%s", got, output)
	}
	if got := strings.Count(string(output), "is a link-local address"); got != 2 {
		t.Errorf("%d link-local addresses were refused:\n%s", got, output)
	}
}
