package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func decode(t *testing.T, text string) object {
	t.Helper()
	out := object{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestFinish(t *testing.T) {
	const (
		before = `install: {spec: {deployments: [{spec: {template: {spec: {containers: [{env: [{name: A, value: a}`
		after  = `]}]}}}}]}}`
		given  = `{metadata: {annotations: {createdAt: now, keep: me}}, spec: {replaces: old, version: 0.2.0, ` +
			before + `, {name: RELATED_IMAGE_RUNTIME_OLD, value: o}` + after + `}}`
	)
	for name, tc := range map[string]struct {
		facts facts
		want  string
	}{
		"the first version, by tag": {
			facts: facts{Image: "example.com/op:0.1.0", Created: "then", Version: "0.1.0", Icon: "PHN2Zz4="},
			want: `{metadata: {annotations: {createdAt: then, keep: me, containerImage: "example.com/op:0.1.0",
				olm.skipRange: ">=0.0.0-0 <0.1.0", features.operators.openshift.io/disconnected: "false"}},
				spec: {` + before + after + `, version: 0.2.0, icon: [{base64data: PHN2Zz4=, mediatype: image/svg+xml}],
				relatedImages: [{name: manager, image: "example.com/op:0.1.0"}]}}`,
		},
		"a later version, by digest, with runtimes": {
			facts: facts{Image: "example.com/op@sha256:1234", Created: "then", Version: "0.2.0", Previous: "0.1.0", Icon: "PHN2Zz4=",
				RuntimeImages: map[string]string{"vllm": "v:1", "tgi": "t@sha256:22"}},
			want: `{metadata: {annotations: {createdAt: then, keep: me, containerImage: "example.com/op@sha256:1234",
				olm.skipRange: ">=0.0.0-0 <0.2.0", features.operators.openshift.io/disconnected: "false"}},
				spec: {` + before + `, {name: RELATED_IMAGE_RUNTIME_TGI, value: "t@sha256:22"}, {name: RELATED_IMAGE_RUNTIME_VLLM, value: "v:1"}` + after + `,
				version: 0.2.0, replaces: aimodel-operator.v0.1.0, icon: [{base64data: PHN2Zz4=, mediatype: image/svg+xml}],
				relatedImages: [{name: manager, image: "example.com/op@sha256:1234"}, {name: runtime-tgi, image: "t@sha256:22"},
				{name: runtime-vllm, image: "v:1"}]}}`,
		},
		"all images by digest": {
			facts: facts{Image: "op@sha256:11", Created: "then", Version: "0.1.0", Icon: "PHN2Zz4=", RuntimeImages: map[string]string{"tgi": "t@sha256:22"}},
			want: `{metadata: {annotations: {createdAt: then, keep: me, containerImage: "op@sha256:11",
				olm.skipRange: ">=0.0.0-0 <0.1.0", features.operators.openshift.io/disconnected: "true"}},
				spec: {` + before + `, {name: RELATED_IMAGE_RUNTIME_TGI, value: "t@sha256:22"}` + after + `, version: 0.2.0,
				icon: [{base64data: PHN2Zz4=, mediatype: image/svg+xml}],
				relatedImages: [{name: manager, image: "op@sha256:11"}, {name: runtime-tgi, image: "t@sha256:22"}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			csv := decode(t, given)
			if err := finish(csv, tc.facts); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, tc.want), csv); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if err := finish(decode(t, given), facts{Version: "0.1.0"}); err == nil {
		t.Error("no image, no date and no icon were accepted")
	}
}

const definition = `
kind: CustomResourceDefinition
metadata: {name: models.example.com}
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        properties:
          spec: {properties: {image: {type: string}, source: {properties: {uri: {type: string}}}}}
          status: {properties: {url: {type: string}, replicas: {type: integer}}}
`

func TestCheckDescriptors(t *testing.T) {
	for name, tc := range map[string]struct {
		owned string
		want  []string
	}{
		"each field of spec is described, and a part of status": {
			owned: `{name: models.example.com, version: v1, specDescriptors: [{path: image}, {path: source}, {path: source.uri}], statusDescriptors: [{path: url}]}`,
		},
		"the definition is not told of": {
			owned: `{name: models.example.com, version: v2}`,
			want:  []string{"models.example.com, v1: it is not among the owned definitions"},
		},
		"fields that do not exist": {
			owned: `{name: models.example.com, version: v1, specDescriptors: [{path: image}, {path: source}, {path: source.url}], statusDescriptors: [{path: uri}]}`,
			want: []string{"models.example.com, v1: a descriptor speaks of spec.source.url, which does not exist",
				"models.example.com, v1: a descriptor speaks of status.uri, which does not exist"},
		},
		"a field that is not described": {
			owned: `{name: models.example.com, version: v1, specDescriptors: [{path: image}, {path: source.uri}]}`,
			want:  []string{"models.example.com, v1: spec.source has no descriptor"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			csv := decode(t, "{spec: {customresourcedefinitions: {owned: ["+tc.owned+"]}}}")
			var got []string
			for _, problem := range checkDescriptors(csv, decode(t, definition)) {
				got = append(got, problem.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunFinishesAFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	csv := write("manifests/x.clusterserviceversion.yaml", `{metadata: {annotations: {}}, spec: {
		install: {spec: {deployments: [{spec: {template: {spec: {containers: [{name: manager}]}}}}]}}, customresourcedefinitions: {owned: [
		{name: models.example.com, version: v1, specDescriptors: [{path: image}, {path: source}]}]}}}`)
	write("manifests/models.yaml", definition)
	icon := write("icon.svg", "<svg/>")
	write("presets/vllm.yaml", "{values: {image: \"example.com/a/vllm:1\"}}")
	digest := "sha256:" + strings.Repeat("1", 64)
	digests := write("digests.txt", "# why\n\nexample.com/a/vllm:1  "+digest+"\n")
	write("presets/custom.yaml", "{values: {port: 8080}}")
	args := []string{"-manifests", filepath.Join(dir, "manifests"), "-icon", icon, "-presets", filepath.Join(dir, "presets"), "-digests", digests,
		"-image", "op:1", "-created", "then", "-version", "0.1.0"}
	if err := run(args); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(csv)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"- image: example.com/a/vllm@" + digest + "\n    name: runtime-vllm", "base64data: PHN2Zy8+", "createdAt: then"} {
		if !strings.Contains(string(first), want) {
			t.Errorf("the finished file lacks %q:\n%s", want, first)
		}
	}
	if err := run(args); err != nil {
		t.Fatal(err)
	}
	if second, _ := os.ReadFile(csv); !bytes.Equal(second, first) {
		t.Error("the second run made something else")
	}
	for _, wrong := range []string{"example.com/a/vllm:1", "example.com/a/vllm:1 sha256:1", "vllm " + digest} {
		write("digests.txt", wrong)
		if err := run(args); err == nil || !strings.Contains(err.Error(), "digests.txt: ") {
			t.Errorf("the digest %q gives %v", wrong, err)
		}
	}
	write("digests.txt", "")
	write("manifests/models.yaml", strings.Replace(definition, "image:", "picture:", 1))
	if err := run(args); err == nil || !strings.Contains(err.Error(), "spec.picture has no descriptor") {
		t.Errorf("a field without a descriptor gives %v", err)
	}
}
