package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

func TestArguments(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no test":             {nil, "name one of the tests broken-image-reason, registry-cleanup, sample-available, scale-subresource"},
		"an unknown test":     {[]string{"all"}, "name one of the tests"},
		"two tests":           {[]string{"sample-available", "scale-subresource"}, "name one of the tests"},
		"no namespace":        {[]string{"sample-available"}, "set SCORECARD_NAMESPACE or --namespace"},
		"an unknown flag":     {[]string{"--no-such-flag"}, "see --help"},
		"serve, with no port": {[]string{"serve"}, "PORT is not set"},
		"half an annotation":  {[]string{"--broken-pod-annotation=key", "sample-available"}, "must be key=value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(namespaceEnv, "")
			t.Setenv("PORT", "")
			err := run(t.Context(), tc.args, &strings.Builder{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	out := &strings.Builder{}
	if err := run(t.Context(), []string{"--version"}, out); err != nil || out.String() != version+"\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestServe(t *testing.T) {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(probe.Addr().String())
	if err := probe.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PORT", port)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"serve"}, &strings.Builder{}) }()
	answered := false
	for !answered {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
		response, err := http.Get("http://127.0.0.1:" + port + "/health")
		if err != nil {
			continue // it does not listen yet
		}
		answered = true
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%d, %v", response.StatusCode, err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestTheReceiver holds that it is where the operator can reach it, and that only the first deletion of a model is refused.
func TestTheReceiver(t *testing.T) {
	c := &check{server: "https://127.0.0.1:6443"}
	receiver, address, err := c.receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.stop()
	if !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Errorf("it listens at %s: the API server is on this machine, so the operator may be too", address)
	}
	send := func(kind, name string) int {
		t.Helper()
		body := `{"type": "` + kind + `", "data": {"owner": {"name": "` + name + `"}}}`
		response, err := http.Post(address, "application/cloudevents+json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode
	}
	for at, want := range []struct {
		kind, name string
		status     int
	}{{eventUpsert, "a", 204}, {eventDelete, "a", 503}, {eventDelete, "b", 503}, {eventDelete, "a", 204}, {"check", "", 204}} {
		if got := send(want.kind, want.name); got != want.status {
			t.Errorf("event %d: %d, want %d", at, got, want.status)
		}
	}
	model := &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if upserts, deletes := receiver.count(model, eventUpsert), receiver.count(model, eventDelete); upserts != 1 || deletes != 2 {
		t.Errorf("it counted %d and %d", upserts, deletes)
	}
	response, err := http.Post(address, "text/plain", strings.NewReader("no event"))
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("what is no event: %d, %v", response.StatusCode, err)
	}
}

func TestHelpNamesTheTests(t *testing.T) {
	out := &strings.Builder{}
	if err := run(t.Context(), []string{"--help"}, out); err != nil {
		t.Fatal(err)
	}
	for name := range suite {
		if !strings.Contains(out.String(), name) {
			t.Errorf("the help does not name %s", name)
		}
	}
}

func TestAResultIsReadByScorecard(t *testing.T) {
	for name, tc := range map[string]struct {
		failure error
		want    result
	}{
		"passed": {nil, result{Name: "a-test", State: "pass", Log: "saw\nmore"}},
		"failed": {errors.New("why"), result{Name: "a-test", State: "fail", Log: "saw\nmore", Errors: []string{"why"}}},
	} {
		t.Run(name, func(t *testing.T) {
			out := &strings.Builder{}
			if err := report(out, "a-test", []string{"saw", "more"}, tc.failure); err != nil {
				t.Fatal(err)
			}
			var got status
			if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
				t.Fatal(err)
			}
			if len(got.Results) != 1 || got.Results[0].Name != tc.want.Name || got.Results[0].State != tc.want.State ||
				got.Results[0].Log != tc.want.Log || strings.Join(got.Results[0].Errors, ";") != strings.Join(tc.want.Errors, ";") {
				t.Errorf("got %+v, want %+v", got.Results, tc.want)
			}
		})
	}
}

func TestReadSamples(t *testing.T) {
	for name, tc := range map[string]struct {
		examples, err, image string
	}{
		"with an image":      {examples: `[{"kind":"InferenceService"},{"kind":"AIModel","spec":{}},{"kind":"AIModel","spec":{"image":"a:1"}}]`, image: "a:1"},
		"no model":           {examples: `[{"kind":"InferenceService"}]`, err: "hold no AIModel"},
		"no model that runs": {examples: `[{"kind":"AIModel","spec":{}}]`, err: "has an image"},
		"something not JSON": {examples: `[`, err: "read the alm-examples"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			csv, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{"alm-examples": tc.examples}}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(folder, "manifests"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, "manifests", "x.clusterserviceversion.yaml"), csv, 0o600); err != nil {
				t.Fatal(err)
			}
			read, err := readSamples(folder)
			image := ""
			if err == nil {
				model, missing := read.served()
				if err = missing; err == nil {
					image = model.Spec.Image
				}
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error = %v, want %q", err, tc.err)
			}
			if image != tc.image {
				t.Errorf("image = %q, want %q", image, tc.image)
			}
		})
	}
	if _, err := readSamples(t.TempDir()); err == nil {
		t.Error("an empty folder is no error")
	}
}

func TestExpectation(t *testing.T) {
	broken := expectation{status: metav1.ConditionFalse, reasons: imageReasons, word: missingImage}
	for name, tc := range map[string]struct {
		ready metav1.Condition
		want  bool
	}{
		"fits":           {metav1.Condition{Status: "False", Reason: "ImageNotFound", Message: "no " + missingImage, ObservedGeneration: 2}, true},
		"older":          {metav1.Condition{Status: "False", Reason: "ImageNotFound", Message: "no " + missingImage, ObservedGeneration: 1}, false},
		"other status":   {metav1.Condition{Status: "True", Reason: "ImageNotFound", Message: "no " + missingImage, ObservedGeneration: 2}, false},
		"other reason":   {metav1.Condition{Status: "False", Reason: "CrashLoop", Message: "no " + missingImage, ObservedGeneration: 2}, false},
		"without a name": {metav1.Condition{Status: "False", Reason: "ImageNotFound", Message: "no image", ObservedGeneration: 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := broken.meets(&tc.ready, 2); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
