package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

var llama = registry.Registration{
	Owner: registry.Owner{Cluster: "c 1", Namespace: "team-a", Name: "llama", UID: "u1"}, Key: "k1", Name: "llama", Version: "1.0",
}

// receiver answers with a status and a body, by the type of the event.
func receiver(t *testing.T, answers map[string]func(http.ResponseWriter)) *Backend {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got event
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &got) != nil {
			t.Errorf("it got %q", body)
		}
		if answer, ok := answers[got.Type]; ok {
			answer(w)
		}
	}))
	t.Cleanup(server.Close)
	backend, err := New(registry.Config{URL: server.URL, HTTPClient: server.Client(), Cluster: "c 1"})
	if err != nil {
		t.Fatal(err)
	}
	return backend
}

func status(code int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "3")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func TestWhatAnAnswerToAnUpsertMeans(t *testing.T) {
	for name, tc := range map[string]struct {
		code   int
		body   string
		reason registry.Reason
		want   registry.Entry
	}{
		"done":                 {200, "", "", registry.Entry{Name: "llama", Version: "1.0", Created: true}},
		"done, and said more":  {201, `{"id":"7","url":"https://gateway/7","version":"v1"}`, "", registry.Entry{Name: "llama", ID: "7", URL: "https://gateway/7", Version: "v1", Created: true}},
		"adopted":              {200, `{"id":"7","adopted":true}`, "", registry.Entry{Name: "llama", ID: "7", Version: "1.0", Adopted: true}},
		"pending":              {202, `{"id":"7"}`, registry.InProgress, registry.Entry{Name: "llama", ID: "7", Version: "1.0", Created: true}},
		"another owner's":      {409, "<html>", registry.Conflict, registry.Entry{}},
		"nobody's":             {409, `{"reason":"AdoptionRequired"}`, registry.AdoptionRequired, registry.Entry{}},
		"not understood":       {422, "", registry.Invalid, registry.Entry{}},
		"no such method":       {405, "", registry.Invalid, registry.Entry{}},
		"nothing is there":     {404, "", registry.Unreachable, registry.Entry{}},
		"the endpoint is gone": {410, "", registry.Unreachable, registry.Entry{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := receiver(t, map[string]func(http.ResponseWriter){TypeUpsert: status(tc.code, tc.body)}).Register(t.Context(), llama)
			told := registry.AsError(err)
			if (told == nil) != (tc.reason == "") || told != nil && told.Reason != tc.reason || got != tc.want {
				t.Errorf("got %+v, %v", got, err)
			}
			if tc.code == 202 && told.RetryAfter != 3*time.Second {
				t.Errorf("it asks again after %s", told.RetryAfter)
			}
		})
	}
}

func TestWhatAnAnswerToADeletionMeans(t *testing.T) {
	for name, tc := range map[string]struct {
		code, check int
		body        string
		reason      registry.Reason
	}{
		"done":                               {code: 204},
		"gone":                               {code: 410},
		"not there":                          {code: 404},
		"no receiver is there":               {code: 404, check: 404, reason: registry.Unreachable},
		"not there, and then it breaks":      {code: 404, check: 503, reason: registry.Unreachable},
		"pending":                            {code: 202, reason: registry.InProgress},
		"of another object of the same name": {code: 409, body: `{"reason":"OtherIncarnation","uid":"u2"}`, reason: registry.OtherIncarnation},
		"busy":                               {code: 409, reason: registry.Conflict},
		"cannot be done":                     {code: 501, reason: registry.DeleteUnsupported},
		"forbidden":                          {code: 403, reason: registry.Unauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]func(http.ResponseWriter){TypeDelete: status(tc.code, tc.body)}
			if tc.check != 0 {
				answers[TypeCheck] = status(tc.check, "")
			}
			told := registry.AsError(receiver(t, answers).Unregister(t.Context(), llama, registry.Delete))
			if (told == nil) != (tc.reason == "") || told != nil && told.Reason != tc.reason {
				t.Errorf("got %v", told)
			}
			if tc.reason == registry.OtherIncarnation && told.FoundUID != "u2" {
				t.Errorf("it found %q", told.FoundUID)
			}
		})
	}
}

func TestTheSameEventHasTheSameID(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	first, err := newEvent(TypeUpsert, llama, at(1))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		kind   string
		change func(*registry.Registration)
		same   bool
	}{
		"later":               {TypeUpsert, func(*registry.Registration) {}, true},
		"known":               {TypeUpsert, func(r *registry.Registration) { r.Known = &registry.Entry{ID: "7"} }, true},
		"allowed more":        {TypeUpsert, func(r *registry.Registration) { r.Adoption = registry.AdoptAlways }, true},
		"other contents":      {TypeUpsert, func(r *registry.Registration) { r.Description = "new" }, false},
		"another incarnation": {TypeUpsert, func(r *registry.Registration) { r.Owner.UID = "u2" }, false},
		"another operation":   {TypeArchive, func(*registry.Registration) {}, false},
	} {
		r := llama
		tc.change(&r)
		second, err := newEvent(tc.kind, r, at(2))
		if err != nil {
			t.Fatal(err)
		}
		if (second.ID == first.ID) != tc.same {
			t.Errorf("%s: the same ID: %v, want %v", name, second.ID == first.ID, tc.same)
		}
	}
	if want := "/clusters/c%201/namespaces/team-a/aimodels/llama"; first.Source != want {
		t.Errorf("the source is %q, want %q", first.Source, want)
	}
}

func TestSigningKeys(t *testing.T) {
	for secret, want := range map[string]string{"whsec_aGVsbG8=": "hello", "whsec_aGVsbG8=\n": "hello", "as it is": "as it is", "": ""} {
		if got, err := parseKey([]byte(secret)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", secret, got, err)
		}
	}
	if _, err := New(registry.Config{URL: "http://r", HTTPClient: http.DefaultClient, Auth: registry.Auth{SigningKey: []byte("whsec_###")}}); err == nil {
		t.Error("what is no key is taken")
	}
	if signed := sign(nil, "id", time.Unix(1, 0), nil); signed.Get("Webhook-Signature") != "" {
		t.Error("it is signed without a key")
	}
}
