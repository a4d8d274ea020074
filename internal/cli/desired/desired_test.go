package desired

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/clitest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func maker(t *testing.T, warnings *[]string, sources ...Source) *Maker {
	t.Helper()
	m, err := NewMaker(func(format string, args ...any) { *warnings = append(*warnings, fmt.Sprintf(format, args...)) }, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRenderGolden(t *testing.T) {
	documents, err := ReadFiles([]string{"testdata/documents.yaml"}, nil, "team-a")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	var warnings []string
	var all []*unstructured.Unstructured
	m := maker(t, &warnings, documents)
	for _, object := range documents.Objects {
		made, err := m.Make(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "# %s: %s\n", object.GetName(), made.Idle)
		for _, u := range made.Manifests() {
			all = append(all, u)
			_, digest := u.GetAnnotations()[aiv1.AnnotationApplied]
			fmt.Fprintf(&out, "%s %s/%s, digest %t, owner %v\n", u.GetKind(), u.GetNamespace(), u.GetName(), digest, u.Object["metadata"].(map[string]any)["ownerReferences"])
		}
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"secretKeyRef:", "--tensor-parallel-size=2"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(string(text), "do-not-print-me") {
		t.Error("the content of a Secret was printed")
	}
	clitest.Golden(t, "testdata/documents.txt", out.Bytes(), *update)
	if len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
	if diff := cmp.Diff([]string{"ConfigMap/other"}, documents.Others); diff != "" {
		t.Errorf("others:\n%s", diff)
	}
}

func TestWhatCannotBeRenderedSaysWhy(t *testing.T) {
	const head = "apiVersion: ai.example.com/v1\nkind: "
	for name, tc := range map[string]struct{ text, want string }{
		"an unknown field":           {head + "AIModel\nmetadata: {name: m}\nspec: {modelName: abc, modelVersion: '1', imgae: x}", `unknown field "spec.imgae"`},
		"no name":                    {head + "AIModel\nspec: {modelName: abc, modelVersion: '1'}", "has no name"},
		"no kind":                    {"a: 1", "has no kind"},
		"a Secret that is no base64": {"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {token: hf_plain!}", "data must be base64"},
		"a service without a model":  {head + "InferenceService\nmetadata: {name: s}\nspec: {modelRef: {name: nowhere}, runtime: {name: vllm}}", `its AIModel "nowhere" is not there`},
		"a source that the runtime cannot read": {head + "AIModel\nmetadata: {name: m}\nspec: {modelName: abc, modelVersion: '1', source: {uri: 's3://b/x'}}\n---\n" +
			head + "InferenceService\nmetadata: {name: s}\nspec: {modelRef: {name: m}, runtime: {name: vllm}}", "source not supported"},
		"a Secret elsewhere": {head + "AIModel\nmetadata: {name: m}\nspec: {modelName: abc, modelVersion: '1', image: 'a:1', credentialsRef: {name: s, namespace: other}}", `credentialsRef names namespace "other"`},
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := ReadFiles([]string{"-"}, strings.NewReader(tc.text), "team-a")
			for i := 0; err == nil && i < len(documents.Objects); i++ {
				_, err = maker(t, new([]string), documents).Make(t.Context(), documents.Objects[i])
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "hf_plain") {
				t.Error("the content of a Secret was told")
			}
		})
	}
}

func TestASecretThatIsNotThereIsAssumedAloud(t *testing.T) {
	const text = "apiVersion: ai.example.com/v1\nkind: AIModel\nmetadata: {name: m}\nspec: {modelName: abc, modelVersion: '1', image: 'a:1', credentialsRef: {name: s}}"
	documents, err := ReadFiles([]string{"-"}, strings.NewReader(text), "team-a")
	if err != nil {
		t.Fatal(err)
	}
	var warnings []string
	if _, err := maker(t, &warnings, documents).Make(t.Context(), documents.Objects[0]); err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], `Secret "s" is not there`) {
		t.Errorf("warnings: %q", warnings)
	}
}

func TestOwnedIsWhatIsWantedOrRecorded(t *testing.T) {
	const live = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: d
  namespace: team
  resourceVersion: "7"
  labels: {ours: a, stale: b, theirs: c}
  annotations: {ai.example.com/applied: "applied:1", deployment.kubernetes.io/revision: "1"}
  managedFields:
  - manager: aimodel-operator
    operation: Apply
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata: {f:labels: {f:ours: {}, f:stale: {}}}
      f:spec:
        f:replicas: {}
        f:template:
          f:spec:
            f:dnsPolicy: {}
            f:hostNetwork: {}
            f:tolerations: {}
            f:containers:
              k:{"name":"server"}:
                .: {}
                f:name: {}
                f:args: {}
                f:env: {'k:{"name":"OLD"}': {.: {}, f:name: {}, f:value: {}}}
                f:ports: {'k:{"containerPort":80,"protocol":"TCP"}': {.: {}, f:containerPort: {}}}
  - manager: somebody
    operation: Update
    apiVersion: apps/v1
    fieldsType: FieldsV1
    fieldsV1: {f:metadata: {f:labels: {f:theirs: {}}}}
spec:
  replicas: 2
  progressDeadlineSeconds: 600
  template:
    spec:
      dnsPolicy: ClusterFirst
      hostNetwork: true
      tolerations: [{key: a, operator: Exists}]
      containers:
      - name: server
        args: [old]
        imagePullPolicy: Always
        env: [{name: OLD, value: x}, {name: THEIRS, value: y}]
        ports: [{containerPort: 80, protocol: TCP}]
      - name: sidecar
        image: theirs:1
status: {replicas: 2}
`
	const want = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: team, labels: {ours: a}}
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: server
        args: [new, two]
        env: [{name: NEW, value: z}]
        ports: [{containerPort: 80}]
`
	const wanted = `apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    ours: a
    stale: b
  name: d
  namespace: team
spec:
  replicas: 2
  template:
    spec:
      containers:
      - args:
        - old
        env:
        - name: OLD
          value: x
        name: server
        ports:
        - containerPort: 80
      hostNetwork: true
      tolerations:
      - key: a
        operator: Exists
`
	parse := func(text string) map[string]any {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	cut := owned(&unstructured.Unstructured{Object: parse(live)}, parse(want))
	prune(cut)
	got, err := yaml.Marshal(cut)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
