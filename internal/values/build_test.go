package values

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

func inputs(change ...func(*resolve.Inputs)) resolve.Inputs {
	in := resolve.Inputs{
		Owner: resolve.Owner{
			Kind: resolve.KindInferenceService, Namespace: "team-a", Name: "llama", ChildName: "llama-server", ModelObject: "llama-3",
		},
		Model: resolve.Model{
			Name: "llama-3-8b", Version: "1",
			Source: &aiv1.ModelSource{URI: "hf://acme/llama"},
		},
		Runtime:  aiv1.Runtime{Name: aiv1.RuntimeVLLM},
		Replicas: 1,
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func overlayOf(text string) func(*resolve.Inputs) {
	return func(in *resolve.Inputs) { in.ChartValues = json.RawMessage(text) }
}

func custom(in *resolve.Inputs) {
	in.Runtime = aiv1.Runtime{Name: aiv1.RuntimeCustom, Image: "a:1"}
}

func sourceOf(uri string) func(*resolve.Inputs) {
	return func(in *resolve.Inputs) {
		in.Model.Source = nil
		if uri != "" {
			in.Model.Source = &aiv1.ModelSource{URI: uri}
		}
	}
}

func formatOf(name string) func(*resolve.Inputs) {
	return func(in *resolve.Inputs) { in.Model.Format = &aiv1.ModelFormat{Name: name} }
}

func at(t *testing.T, values map[string]any, path string) any {
	t.Helper()
	var current any = values
	for key := range strings.SplitSeq(path, ".") {
		m, ok := current.(map[string]any)
		if !ok {
			return nil
		}
		current = m[key]
	}
	return current
}

func TestWhatARuntimeCannotServe(t *testing.T) {
	for name, tc := range map[string]struct {
		in   resolve.Inputs
		want error
	}{
		"vllm from s3":               {inputs(sourceOf("s3://b/m")), ErrSourceNotSupported},
		"vllm from gs":               {inputs(sourceOf("gs://b/m")), ErrSourceNotSupported},
		"vllm from oci":              {inputs(sourceOf("oci://r/m:1")), ErrSourceNotSupported},
		"vllm from https":            {inputs(sourceOf("https://h/m")), ErrSourceNotSupported},
		"vllm from nowhere":          {inputs(sourceOf("")), ErrSourceNotSupported},
		"vllm from hf":               {inputs(sourceOf("hf://acme/llama")), nil},
		"vllm from hf, old name":     {inputs(sourceOf("hf://gpt2")), nil},
		"vllm from hf, variant":      {inputs(sourceOf("hf://acme/llama-GGUF:Q4_K_M")), nil},
		"vllm from hf, a file":       {inputs(sourceOf("hf://acme/llama/x.gguf")), ErrSourceNotSupported},
		"vllm from hf, an option":    {inputs(sourceOf("hf://--trust-remote-code")), ErrSourceNotSupported},
		"vllm from hf, a line":       {inputs(sourceOf("hf://acme/llama\n")), ErrSourceNotSupported},
		"vllm from pvc":              {inputs(sourceOf("pvc://weights/llama")), nil},
		"vllm from pvc, bad claim":   {inputs(sourceOf("pvc://Weights/llama")), ErrSourceNotSupported},
		"custom from pvc, bad claim": {inputs(custom, sourceOf("pvc://a b/llama")), ErrSourceNotSupported},
		"custom from s3":             {inputs(custom, sourceOf("s3://b/m")), nil},
		"custom from hf, a file":     {inputs(custom, sourceOf("hf://acme/llama/x.gguf")), nil},
		"custom from nowhere":        {inputs(custom, sourceOf("")), nil},
		"vllm of safetensors":        {inputs(formatOf("safetensors")), nil},
		"vllm of gguf":               {inputs(formatOf("gguf")), nil},
		"vllm of pytorch":            {inputs(formatOf("pytorch")), nil},
		"vllm of onnx":               {inputs(formatOf("onnx")), ErrFormatNotSupported},
		"vllm of tensorflow":         {inputs(formatOf("tensorflow")), ErrFormatNotSupported},
		"custom of onnx":             {inputs(custom, formatOf("onnx")), nil},
		"no such runtime":            {inputs(func(in *resolve.Inputs) { in.Runtime.Name = "x" }), ErrUnknownRuntime},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(tc.in)
			if !errors.Is(err, tc.want) {
				t.Errorf("error is %v, want %v", err, tc.want)
			}
		})
	}
}

func TestArguments(t *testing.T) {
	for name, tc := range map[string]struct {
		in   resolve.Inputs
		want []any
	}{
		"plain": {inputs(), []any{"acme/llama", "--served-model-name=llama-3-8b", "--port=8000"}},
		"everything": {
			inputs(formatOf("safetensors"), func(in *resolve.Inputs) {
				in.Model.Source.Revision = "v$(1)"
				in.Accelerator = &aiv1.Accelerator{Count: 4}
				in.Runtime.Port = ptr.To[int32](9000)
				in.Runtime.Args = []string{"--x=$(PORT)"}
			}),
			[]any{
				"acme/llama", "--revision=v$$(1)", "--served-model-name=llama-3-8b", "--tensor-parallel-size=4",
				"--load-format=safetensors", "--port=9000", "--x=$(PORT)",
			},
		},
		"format of no name": {inputs(formatOf("pytorch")), []any{"acme/llama", "--served-model-name=llama-3-8b", "--port=8000"}},
		"a claim":           {inputs(sourceOf("pvc://w/../a//b")), []any{"/mnt/models/a/b", "--served-model-name=llama-3-8b", "--port=8000"}},
		"a whole claim":     {inputs(sourceOf("pvc://w")), []any{"/mnt/models", "--served-model-name=llama-3-8b", "--port=8000"}},
		"custom has none":   {inputs(custom), []any{}},
		"the user's alone":  {inputs(custom, func(in *resolve.Inputs) { in.Runtime.Args = []string{"{model}"} }), []any{"{model}"}},
		"count is one at least": {
			inputs(func(in *resolve.Inputs) { in.Accelerator = &aiv1.Accelerator{} }),
			[]any{"acme/llama", "--served-model-name=llama-3-8b", "--tensor-parallel-size=1", "--port=8000"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := Build(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, values["args"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheSpecOverridesThePreset(t *testing.T) {
	values, err := Build(inputs(func(in *resolve.Inputs) {
		in.Runtime.Image = "mine:1"
		in.Runtime.Command = []string{"/serve"}
		in.Runtime.HealthPath = "/ready"
		in.Runtime.Env = []corev1.EnvVar{{Name: "USER", Value: "me"}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"image":                 "mine:1",
		"command":               []any{"/serve"},
		"healthPath":            "/ready",
		"startup.budgetSeconds": float64(3600),
		"replicas":              int64(1),
		"managedBy":             "aimodel-operator",
		"scaleTarget.kind":      "InferenceService",
		"env": []any{
			map[string]any{"name": "VLLM_NO_USAGE_STATS", "value": "1"},
			map[string]any{"name": "USER", "value": "me"},
		},
	} {
		if diff := cmp.Diff(want, at(t, values, path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}

func TestRoomIsMadeInPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		in   resolve.Inputs
		want any
	}{
		"not asked for":  {inputs(), nil},
		"no room":        {inputs(func(in *resolve.Inputs) { in.ReplaceInPlace = true }), true},
		"the user knows": {inputs(overlayOf(`{"rollout": {"replaceInPlace": true}}`)), true},
	} {
		t.Run(name, func(t *testing.T) {
			values, err := Build(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := at(t, values, "rollout.replaceInPlace"); got != tc.want {
				t.Errorf("it is %v, want %v", got, tc.want)
			}
		})
	}
}

func TestOverlay(t *testing.T) {
	overlay := overlayOf(`{"drain": {"seconds": 3}, "healthPath": null, "shm": {"sizeLimit": "1Gi"}, "podLabels": {"a": "1"}}`)
	values, err := Build(inputs(overlay))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"drain.seconds":            int64(3),
		"drain.gracePeriodSeconds": float64(300),
		"shm.sizeLimit":            "1Gi",
		"podLabels.a":              "1",
		"healthPath":               nil,
	} {
		if got := at(t, values, path); got != want {
			t.Errorf("%s is %#v, want %#v", path, got, want)
		}
	}
	if _, kept := values["healthPath"]; !kept {
		t.Error("the null is lost: the chart would not take its default away")
	}
}

func TestInvalidOverlays(t *testing.T) {
	for name, tc := range map[string]struct{ overlay, path, reason string }{
		"no object":         {`[1]`, "", "must be an object"},
		"text":              {`"x"`, "", "must be an object"},
		"toleration":        {`{"tolerations": [{"kee": "a"}]}`, "tolerations", `unknown field "[0].kee"`},
		"affinity":          {`{"affinity": {"nodeAfinity": {}}}`, "affinity", `unknown field "nodeAfinity"`},
		"env value no text": {`{"env": [{"name": "A", "value": 1}]}`, "env", "cannot unmarshal number"},
		"resources":         {`{"resources": {"limits": {"cpu": "much"}}}`, "resources", "quantities must match"},
		"init container":    {`{"initContainers": [{"name": "a", "imagee": "b"}]}`, "initContainers", `unknown field "[0].imagee"`},
		"volume":            {`{"extraVolumes": [{"name": "a", "emptydir": {}}]}`, "extraVolumes", "unknown field"},
		"security context":  {`{"podSecurityContext": {"runAsUser": "me"}}`, "podSecurityContext", "cannot unmarshal string"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(inputs(overlayOf(tc.overlay)))
			var invalid *InvalidValuesError
			if !errors.As(err, &invalid) {
				t.Fatalf("error is %v", err)
			}
			if invalid.Path != tc.path || !strings.Contains(invalid.Reason, tc.reason) {
				t.Errorf("path %q, reason %q", invalid.Path, invalid.Reason)
			}
		})
	}
}

func TestReservedValuesMayNotBeLaidOver(t *testing.T) {
	for _, key := range []string{
		"nameOverride", "managedBy", "owner", "scaleTarget", "replicas", "autoscaling", "accelerator", "port", "model",
		"credentials",
	} {
		for _, value := range []string{`"x"`, `{}`, `null`} {
			_, err := Build(inputs(overlayOf(`{"` + key + `": ` + value + `}`)))
			var invalid *InvalidValuesError
			if !errors.As(err, &invalid) || invalid.Path != key || !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %s: error is %v", key, value, err)
			}
		}
		delete(reservedLeft, key)
	}
	if len(reservedLeft) > 0 {
		t.Errorf("not tested: %v", reservedLeft)
	}
}

// reservedLeft is what TestReservedValuesMayNotBeLaidOver has yet to try.
var reservedLeft = func() map[string]bool {
	out := map[string]bool{}
	for key := range reserved {
		out[key] = true
	}
	return out
}()

func TestTokenKey(t *testing.T) {
	for name, tc := range map[string]struct {
		keys []string
		want string
	}{
		"none":             {nil, ""},
		"token":            {[]string{"token"}, "token"},
		"own name":         {[]string{"HF_TOKEN", "token"}, ""},
		"lower case":       {[]string{"hf_token", "other"}, "hf_token"},
		"older name":       {[]string{"HUGGING_FACE_HUB_TOKEN"}, "HUGGING_FACE_HUB_TOKEN"},
		"first of several": {[]string{"HUGGING_FACE_HUB_TOKEN", "token"}, "token"},
		"something else":   {[]string{"password"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tokenKey(tc.keys); got != tc.want {
				t.Errorf("key is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCredentials(t *testing.T) {
	pull := func(in *resolve.Inputs) { in.Credentials = &resolve.Credentials{SecretName: "s", ImagePull: true} }
	token := func(in *resolve.Inputs) {
		in.Credentials = &resolve.Credentials{SecretName: "s", Keys: []string{"token"}}
	}

	values, err := Build(inputs(pull))
	if err != nil {
		t.Fatal(err)
	}
	if at(t, values, "credentials") != nil {
		t.Error("a pull secret is shown to the server")
	}
	if diff := cmp.Diff([]any{map[string]any{"name": "s"}}, values["imagePullSecrets"]); diff != "" {
		t.Error(diff)
	}
	values, err = Build(inputs(token))
	if err != nil {
		t.Fatal(err)
	}
	if got := at(t, values, "credentials.tokenKey"); got != "token" {
		t.Errorf("key of the token is %v", got)
	}
	values, err = Build(inputs(token, custom, sourceOf("s3://b/m")))
	if err != nil {
		t.Fatal(err)
	}
	if got := at(t, values, "credentials.tokenKey"); got != nil {
		t.Errorf("a token of s3 is taken for one of Hugging Face: %v", got)
	}
}

func TestPath(t *testing.T) {
	own := func(in *resolve.Inputs) { in.Model.Path = "/predict" }
	for name, tc := range map[string]struct {
		in   resolve.Inputs
		want string
	}{
		"vllm":             {inputs(), "/v1"},
		"vllm, model says": {inputs(own), "/v1"},
		"custom":           {inputs(custom), ""},
		"custom, says":     {inputs(custom, own), "/predict"},
		"no such runtime":  {inputs(own, func(in *resolve.Inputs) { in.Runtime.Name = "x" }), "/predict"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Path(tc.in); got != tc.want {
				t.Errorf("path is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBuildIsPure(t *testing.T) {
	in := inputs(overlayOf(`{"env": [], "drain": {"seconds": 1}}`))
	first, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Build(inputs(overlayOf(`{"drain": {"seconds": 2}, "startup": {"budgetSeconds": 7}}`))); err != nil {
		t.Fatal(err)
	}
	second, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("one build changes another: %s", diff)
	}
	onlyJSON(t, "", first)
}

// onlyJSON checks that a value consists of what the renderer and its schema can read.
func onlyJSON(t *testing.T, path string, value any) {
	t.Helper()
	switch v := value.(type) {
	case nil, bool, string, int64, float64:
	case map[string]any:
		for key, inner := range v {
			onlyJSON(t, path+"."+key, inner)
		}
	case []any:
		for _, inner := range v {
			onlyJSON(t, path+"[]", inner)
		}
	default:
		t.Errorf("%s is a %T", path, value)
	}
}
