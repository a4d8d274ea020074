package environment

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

const within = "localhost,127.0.0.1,::1,.svc,.cluster.local"

func TestOf(t *testing.T) {
	for name, tc := range map[string]struct {
		variables map[string]string
		want      Found
	}{
		"nothing is said":                  {},
		"exceptions alone are no proxy":    {variables: map[string]string{noProxy: "example.com"}},
		"an empty proxy is none":           {variables: map[string]string{httpProxy: "", noProxy: "example.com"}},
		"a proxy, without exceptions":      {map[string]string{httpsProxy: "http://p:3128"}, Found{Site: site("", "http://p:3128", within)}},
		"an address without a scheme":      {map[string]string{httpProxy: "p:3128"}, Found{Site: site("p:3128", "", within)}},
		"exceptions come first, and once":  {map[string]string{httpProxy: "http://p", noProxy: "10.0.0.0/8, .svc,,a.b"}, Found{Site: site("http://p", "", "10.0.0.0/8,.svc,a.b,localhost,127.0.0.1,::1,.cluster.local")}},
		"everything is an exception":       {map[string]string{httpProxy: "http://p", noProxy: "a,*"}, Found{Site: site("http://p", "", "*")}},
		"a password is withheld":           {map[string]string{httpProxy: "http://u:hunter2@p", httpsProxy: "http://q"}, Found{Site: site("", "http://q", within), Withheld: []string{httpProxy}}},
		"so it is without a scheme":        {map[string]string{httpProxy: "u:hunter2@p:1", httpsProxy: "u@p"}, Found{Withheld: []string{httpsProxy, httpProxy}}},
		"the image of a runtime":           {map[string]string{"RELATED_IMAGE_RUNTIME_VLLM": "a@sha256:1", "RELATED_IMAGE_RUNTIME_TGI": ""}, Found{Site: resolve.Site{RuntimeImages: map[string]string{"vllm": "a@sha256:1"}}}},
		"other images are somebody else's": {variables: map[string]string{"RELATED_IMAGE_MANAGER": "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Of(tc.variables)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func site(http, https, no string) resolve.Site {
	return resolve.Site{Proxy: resolve.Proxy{HTTP: http, HTTPS: https, No: no}}
}

func TestAnErrorQuotesNothing(t *testing.T) {
	for _, address := range []string{"http://u:hunter2%zz@p", "://hunter2", "http://hunter2 p", "http://", "http://u:hunter2\n@p"} {
		_, err := Of(map[string]string{httpsProxy: address})
		if err == nil || !strings.HasPrefix(err.Error(), "HTTPS_PROXY is not the address of a proxy") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestAdopt(t *testing.T) {
	for name, tc := range map[string]struct {
		variables   map[string]string
		want        resolve.Proxy
		wantNoProxy string
	}{
		"nothing is set":           {map[string]string{"NO_PROXY": "a.b"}, resolve.Proxy{}, "a.b"},
		"the API server is inside": {map[string]string{"HTTP_PROXY": "http://p", "NO_PROXY": "a.b"}, resolve.Proxy{HTTP: "http://p", No: "a.b," + within}, "a.b," + within + ",10.96.0.1"},
		"small letters":            {map[string]string{"https_proxy": "http://p", "no_proxy": "a.b"}, resolve.Proxy{HTTPS: "http://p", No: "a.b," + within}, "a.b," + within + ",10.96.0.1"},
		"capitals win":             {map[string]string{"https_proxy": "http://p", "HTTPS_PROXY": "http://q"}, resolve.Proxy{HTTPS: "http://q", No: within}, within + ",10.96.0.1"},
		"a password is our own":    {map[string]string{"HTTPS_PROXY": "http://u:p@q"}, resolve.Proxy{}, within + ",10.96.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{httpProxy, httpsProxy, noProxy} {
				t.Setenv(variable, "")
				t.Setenv(strings.ToLower(variable), "")
			}
			t.Setenv(apiServer, "10.96.0.1")
			for variable, value := range tc.variables {
				t.Setenv(variable, value)
			}
			t.Setenv("RELATED_IMAGE_RUNTIME_VLLM", "a@sha256:1")
			found, err := Adopt()
			if err != nil {
				t.Fatal(err)
			}
			want := resolve.Site{Proxy: tc.want, RuntimeImages: map[string]string{"vllm": "a@sha256:1"}}
			if diff := cmp.Diff(want, found.Site); diff != "" {
				t.Error(diff)
			}
			if got := os.Getenv(noProxy); got != tc.wantNoProxy {
				t.Errorf("NO_PROXY is %q, want %q", got, tc.wantNoProxy)
			}
		})
	}
}
