package values

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

func proxied(in *resolve.Inputs) {
	in.Site.Proxy = resolve.Proxy{HTTP: "http://p:1", HTTPS: "http://p:2", No: ".svc"}
}

// words writes variables as NAME=VALUE.
func words(t *testing.T, variables any) string {
	t.Helper()
	var out []string
	list, _ := variables.([]any)
	for _, entry := range list {
		variable, ok := entry.(map[string]any)
		if !ok {
			t.Fatalf("%T is no variable", entry)
		}
		name, _ := variable["name"].(string)
		value, _ := variable["value"].(string)
		out = append(out, name+"="+value)
	}
	return strings.Join(out, " ")
}

func TestProxy(t *testing.T) {
	const (
		plain  = "HTTP_PROXY=http://p:1 http_proxy=http://p:1"
		secure = "HTTPS_PROXY=http://p:2 https_proxy=http://p:2"
		past   = "NO_PROXY=.svc,$(KUBERNETES_SERVICE_HOST) no_proxy=.svc,$(KUBERNETES_SERVICE_HOST)"
	)
	without := overlayOf(`{"env": null}`) // so that only ours are seen
	env := func(name, value string) func(*resolve.Inputs) {
		return func(in *resolve.Inputs) {
			custom(in)
			in.Runtime.Env = []corev1.EnvVar{{Name: name, Value: value}}
		}
	}
	secret := func(imagePull bool) func(*resolve.Inputs) {
		return func(in *resolve.Inputs) {
			in.Credentials = &resolve.Credentials{SecretName: "s", Keys: []string{"HTTPS_PROXY"}, ImagePull: imagePull}
		}
	}
	for name, tc := range map[string]struct {
		in   resolve.Inputs
		want string
	}{
		"none":                             {inputs(without), ""},
		"exceptions alone are nothing":     {inputs(without, func(in *resolve.Inputs) { in.Site.Proxy.No = "a" }), ""},
		"weights from a hub":               {inputs(without, proxied), plain + " " + secure + " " + past},
		"weights from a bucket":            {inputs(without, proxied, custom, sourceOf("s3://b/m")), plain + " " + secure + " " + past},
		"weights on a volume":              {inputs(without, proxied, sourceOf("pvc://w/m")), ""},
		"weights in the image":             {inputs(without, proxied, custom, sourceOf("")), ""},
		"one proxy only":                   {inputs(without, func(in *resolve.Inputs) { in.Site.Proxy = resolve.Proxy{HTTPS: "http://p:2", No: ".svc"} }), secure + " " + past},
		"everything goes past it":          {inputs(without, func(in *resolve.Inputs) { in.Site.Proxy = resolve.Proxy{HTTPS: "http://p:2", No: "*"} }), secure + " NO_PROXY=* no_proxy=*"},
		"nothing is expanded":              {inputs(without, func(in *resolve.Inputs) { in.Site.Proxy = resolve.Proxy{HTTP: "http://$(X)", No: "*"} }), "HTTP_PROXY=http://$$(X) http_proxy=http://$$(X) NO_PROXY=* no_proxy=*"},
		"the user's wins":                  {inputs(proxied, env("HTTPS_PROXY", "http://mine")), plain + " " + past + " HTTPS_PROXY=http://mine"},
		"the user's wins in small letters": {inputs(proxied, env("no_proxy", "")), plain + " " + secure + " no_proxy="},
		"the overlay's wins":               {inputs(proxied, overlayOf(`{"env": [{"name": "http_proxy", "value": "x"}]}`)), secure + " " + past + " http_proxy=x"},
		"the Secret's wins":                {inputs(without, proxied, secret(false)), plain + " " + past},
		"a Secret that no server sees":     {inputs(without, proxied, secret(true)), plain + " " + secure + " " + past},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := Build(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := words(t, values["env"]); got != tc.want {
				t.Errorf("variables (-want +got):\n%s", cmp.Diff(tc.want, got))
			}
			onlyJSON(t, "", values)
		})
	}
}

func TestInitContainersGetTheProxyToo(t *testing.T) {
	overlay := `{"initContainers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b", "env": [{"name": "https_proxy", "value": "x"}]}]}`
	in := inputs(proxied, overlayOf(overlay))
	values, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	containers, _ := values["initContainers"].([]any)
	var got []string
	for _, container := range containers {
		fields, _ := container.(map[string]any)
		got = append(got, words(t, fields["env"]))
	}
	want := []string{
		"HTTP_PROXY=http://p:1 http_proxy=http://p:1 HTTPS_PROXY=http://p:2 https_proxy=http://p:2 NO_PROXY=.svc,$(KUBERNETES_SERVICE_HOST) no_proxy=.svc,$(KUBERNETES_SERVICE_HOST)",
		"HTTP_PROXY=http://p:1 http_proxy=http://p:1 NO_PROXY=.svc,$(KUBERNETES_SERVICE_HOST) no_proxy=.svc,$(KUBERNETES_SERVICE_HOST) https_proxy=x",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if string(in.ChartValues) != overlay {
		t.Error("the inputs were changed")
	}
}

func TestImagesOfTheSite(t *testing.T) {
	site := func(in *resolve.Inputs) {
		in.Site.RuntimeImages = map[string]string{"vllm": "site@sha256:1", "custom": "never:1"}
	}
	for name, tc := range map[string]struct {
		in   resolve.Inputs
		want any
	}{
		"instead of the preset's":         {inputs(site), "site@sha256:1"},
		"not instead of the user's":       {inputs(site, func(in *resolve.Inputs) { in.Runtime.Image = "mine:1" }), "mine:1"},
		"not instead of the overlay's":    {inputs(site, overlayOf(`{"image": "mine:2"}`)), "mine:2"},
		"not for the image of an AIModel": {inputs(site, custom), "a:1"},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := Build(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if values["image"] != tc.want {
				t.Errorf("the image is %v, want %v", values["image"], tc.want)
			}
		})
	}
}
