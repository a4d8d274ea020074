package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/clitest"
)

// planted are the secrets of the test data. Each has the word PLANTED in it, or is listed here for its form.
var planted = []string{"PLANTED", "cGxhbnRlZA", "AKIAIOSFODNN7EXAMPLE", "hf_abcdefghij", "eyJhbGciOiJIUzI1NiJ9", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY0"}

// hostileLog is what a server may write that does not think of its readers.
const hostileLog = `2026-01-01T00:00:00Z starting with HF_TOKEN=PLANTED-1 and password: "PLANTED-2"
GET https://user:PLANTED-3@example.com/x?api_key=PLANTED-4&max_tokens=512
Authorization: Bearer PLANTED-5-xxxxxx
{"level":"info","secret":"PLANTED-6","model":"llama"}
{\"escaped\":1,\"api_key\":\"PLANTED-7\"}
-----BEGIN RSA PRIVATE KEY-----
PLANTED-8
-----END RSA PRIVATE KEY-----
token hf_abcdefghijklmnop, key AKIAIOSFODNN7EXAMPLE, wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY0, jwt eyJhbGciOiJIUzI1NiJ9.e30.abc
the server listens on port 8000 and loaded meta-llama/Meta-Llama-3-70B-Instruct-with-a-long-name
image@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
Secret "hf" not found, credentials: not found
`

func collect(t *testing.T, reader client.Reader) (map[string]string, *Summary) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("previous") == "true" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":400,"message":"gone, password=PLANTED-9"}`)
			return
		}
		fmt.Fprint(w, hostileLog)
	}))
	t.Cleanup(server.Close)
	logs, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{Reader: reader, Logs: logs, Tail: 10, Versions: map[string]string{"plugin": "1"},
		Operator: client.MatchingLabels{"app.kubernetes.io/name": "aimodel-operator"},
		Now:      func() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }}
	var out bytes.Buffer
	summary, err := c.Collect(t.Context(), &out, "")
	if err != nil {
		t.Fatal(err)
	}
	return unpack(t, &out), summary
}

func unpack(t *testing.T, in io.Reader) map[string]string {
	t.Helper()
	compressed, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for reader := tar.NewReader(compressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if path.Clean(header.Name) != header.Name || !strings.HasPrefix(header.Name, folder+"/") {
			t.Errorf("the path %q leads out of the archive", header.Name)
		}
		data, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(header.Name, folder+"/")] = string(data)
	}
}

func TestNoSecretGetsIntoTheArchive(t *testing.T) {
	reader := &noSecrets{Client: clitest.Client(t, clitest.Objects(t, "testdata/hostile.yaml")...), t: t}
	files, summary := collect(t, reader)
	for name, text := range files {
		for _, secret := range planted {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("%s has %q", name, text[max(0, at-60):min(len(text), at+60)])
			}
		}
	}
	if summary.Models != 2 || summary.Namespaces != 1 || summary.Pods != 1 {
		t.Errorf("summary: %+v", summary)
	}
	// What is needed to help is still there.
	for name, words := range map[string][]string{
		"README.txt":                              {"REDACTED"},
		"version.yaml":                            {"plugin: \"1\""},
		"namespaces/team-a/aimodel.yaml":          {"name: hf", "temperature: 0.5", "max_tokens: 512", "image: acme/server:1"},
		"namespaces/team-a/deployment.yaml":       {"MODEL_NAME", "value: llama", "secretKeyRef", "key: token", "--max-model-len=8192", "--api-key=REDACTED"},
		"namespaces/team-a/pod.yaml":              {"secretName: hf", "exit code 1"},
		"namespaces/team-a/event.yaml":            {"reason: BackOff"},
		"namespaces/team-a/job.yaml":              {"name: fetch-weights", "--token=REDACTED"},
		"namespaces/team-a/why/AIModel-llama.txt": {"AIModel team-a/llama is not ready: CrashLoop"},
		"namespaces/team-a/logs/llama-x.server.log": {"the server listens on port 8000", "max_tokens=512", "sha256:0123456789abcdef0123456789abcdef",
			"meta-llama/Meta-Llama-3-70B-Instruct-with-a-long-name", `Secret "hf" not found, credentials: not found`, `"model":"llama"`},
		"operator/deployment.yaml": {"name: controller"},
		"cluster/node.yaml":        {"nvidia.com/gpu"},
		"missing.txt":              {"the log team-a/llama-x server.previous.log: gone"},
	} {
		for _, word := range words {
			if !strings.Contains(files[name], word) {
				t.Errorf("%s lacks %q:\n%s", name, word, files[name])
			}
		}
	}
	if strings.Contains(files["namespaces/team-a/job.yaml"], "of-somebody-else") {
		t.Error("the archive has a Job that has nothing to do with models")
	}
	for name := range files {
		if strings.Contains(strings.ToLower(name), "secret") {
			t.Errorf("there is a file %s", name)
		}
	}
}

func TestRedactText(t *testing.T) {
	for text, want := range map[string]string{
		"password=abc":                            "password=REDACTED",
		"DB_PASSWORD: 'abc def'":                  "DB_PASSWORD: 'REDACTED'",
		"--token=abc --tokenizer=llama":           "--token=REDACTED --tokenizer=llama",
		"max_tokens=512 max-model-len=8192":       "max_tokens=512 max-model-len=8192",
		"Proxy-Authorization: Basic dXNlcjpwYXNz": "Proxy-Authorization: REDACTED REDACTED",
		"https://example.com/a@b":                 "https://example.com/a@b",
		"s3://key:word@bucket/x":                  "s3://REDACTED@bucket/x",
		"no secret at all, key point: fine":       "no secret at all, key point: fine",
		"llama-server-7c9d8f6b5-x2x4z":            "llama-server-7c9d8f6b5-x2x4z",
		"2aa04781-a276-454e-8023-730e87d0178b":    "2aa04781-a276-454e-8023-730e87d0178b",
		"NGC_API_KEY=nvapi-abc":                   "NGC_API_KEY=REDACTED",
		"?sig=abc&x=1":                            "?sig=REDACTED&x=1",
	} {
		if got := redactText(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestNamesOfFilesAreSafe(t *testing.T) {
	var out bytes.Buffer
	a := newArchive(&out, time.Now())
	for _, parts := range [][]string{{"..", "..", "etc", "passwd"}, {"a/../../b"}, {".hidden"}} {
		if err := a.add("x", parts...); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	unpack(t, &out)
}
