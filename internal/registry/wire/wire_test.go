package wire

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

func TestAddressesThatCannotBeUsedAreInvalidAndNotQuoted(t *testing.T) {
	for name, address := range map[string]string{
		"credentials in it": "https://user:hunter2@registry.example.com", "no scheme": "registry.example.com/hunter2",
		"another scheme": "ftp://registry.example.com/hunter2", "no host": "https:///hunter2", "no URL": "https://%zz/hunter2",
		"a fragment": "https://registry.example.com/#hunter2",
	} {
		_, err := New(registry.Config{URL: address, HTTPClient: http.DefaultClient})
		var told *registry.Error
		if !errors.As(err, &told) || told.Reason != registry.Invalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A registry that repeats what it was sent, in any form, does not make the operator repeat it.
func TestNoErrorRepeatsACredential(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("operator:pass word/1"))
	for name, tc := range map[string]struct {
		auth  registry.Auth
		query string
		says  []string
	}{
		"token":    {auth: registry.Auth{Token: "token+1/2="}, says: []string{"token+1/2=", "token%2B1%2F2%3D"}},
		"password": {auth: registry.Auth{Username: "operator", Password: "pass word/1"}, says: []string{"pass word/1", "pass+word%2F1", basic}},
		"key":      {auth: registry.Auth{SigningKey: []byte("signing-key")}, says: []string{"signing-key"}},
		"query":    {query: "?token=of-the-address", says: []string{"of-the-address"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
			defer server.Close()
			conn, err := New(registry.Config{URL: server.URL + tc.query, HTTPClient: server.Client(), Auth: tc.auth})
			if err != nil {
				t.Fatal(err)
			}
			answer, err := conn.Send(t.Context(), Request{What: "ask", Method: http.MethodGet})
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range tc.says {
				for _, told := range []error{answer.Error("you sent " + secret), answer.Reasoned(registry.Conflict, "you sent "+secret)} {
					if strings.Contains(told.Error(), secret) || !strings.Contains(told.Error(), "[redacted]") {
						t.Errorf("%v", told)
					}
				}
			}
		})
	}
}

func TestAnswersAreBoundedAndRedirectsNamed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "https://elsewhere.example.com/token", http.StatusSeeOther)
			return
		}
		chunk := make([]byte, 1<<20)
		for range 10 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	conn, err := New(registry.Config{URL: server.URL, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Send(t.Context(), Request{What: "ask", Method: http.MethodGet, Path: "endless"}); err == nil ||
		registry.AsError(err).Reason != registry.Unreachable {
		t.Errorf("a long answer: %v", err)
	}
	answer, err := conn.Send(t.Context(), Request{What: "ask", Method: http.MethodGet, Path: "away"})
	if err != nil {
		t.Fatal(err)
	}
	if told := answer.Error(""); told.Reason != registry.Invalid || strings.Contains(told.Error(), "elsewhere") {
		t.Errorf("a redirect: %v", told)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := conn.Send(ended, Request{What: "ask", Method: http.MethodGet}); registry.AsError(err) == nil {
		t.Error("it sent although it should not")
	}
}
