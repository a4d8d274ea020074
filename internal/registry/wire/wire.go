// Package wire carries the requests of a backend to its registry: with the credentials, in bounded time and size, and with
// errors that hold no secret, whatever the registry answered.
//
// It must not know any registry: what an answer means is for the backend to say.
package wire

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// MaxBody is the largest answer that is read, in bytes. A page of a search is far below.
const MaxBody = 8 << 20

// minSecret keeps a password of a character or two from blotting out every text.
const minSecret = 4

// Conn sends requests to one registry. It is safe for concurrent use.
type Conn struct {
	base    *url.URL
	client  *http.Client
	auth    registry.Auth
	secrets []string
}

// New returns a connection to the registry of the configuration, which is not contacted.
func New(config registry.Config) (*Conn, error) {
	base, err := url.Parse(config.URL)
	switch {
	case err != nil: // the parser's error quotes the URL
		return nil, registry.Errorf(registry.Invalid, "the URL of the registry cannot be parsed")
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return nil, registry.Errorf(registry.Invalid, "the URL of the registry is not http:// or https:// with a host")
	case base.User != nil:
		return nil, registry.Errorf(registry.Invalid, "the URL of the registry holds credentials; they belong into the Secret")
	case base.Fragment != "":
		return nil, registry.Errorf(registry.Invalid, "the URL of the registry has a fragment")
	case config.HTTPClient == nil:
		return nil, registry.Errorf(registry.Invalid, "there is no HTTP client")
	}
	return &Conn{base: base, client: config.HTTPClient, auth: config.Auth, secrets: secretsOf(config.Auth, base)}, nil
}

// secretsOf lists the credentials in every form in which an answer could repeat them. What follows the "?" of an address is
// a secret too: services hand out addresses with a token in it.
func secretsOf(auth registry.Auth, base *url.URL) []string {
	secrets := []string{auth.Token, auth.Password, string(auth.SigningKey), base.RawQuery}
	for _, values := range base.Query() {
		secrets = append(secrets, values...)
	}
	if auth.Username != "" || auth.Password != "" {
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(auth.Username+":"+auth.Password)))
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
		secrets = append(secrets, encoding.EncodeToString([]byte(auth.Token)), encoding.EncodeToString(auth.SigningKey))
	}
	for _, secret := range slices.Clone(secrets) {
		secrets = append(secrets, url.QueryEscape(secret), url.PathEscape(secret))
	}
	secrets = slices.DeleteFunc(secrets, func(secret string) bool { return len(secret) < minSecret })
	// The longer first, so that none is left in part.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(secrets)
}

// Base is the address of the registry. The caller must not change it.
func (c *Conn) Base() *url.URL { return c.base }

// Request is one request.
type Request struct {
	// What names it in errors: "create the model version".
	What   string
	Method string
	// Path is appended to the path of the registry's address; empty for that address itself.
	Path   string
	Query  url.Values
	Header http.Header
	// JSON becomes the body, unless it is nil. Body is sent as it is instead.
	JSON any
	Body []byte
}

// Answer is what the registry answered, whatever it is.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	conn *Conn
	what string
}

// Send sends the request once. The error is an *registry.Error, of a request that got no whole answer.
func (c *Conn) Send(ctx context.Context, r Request) (Answer, error) {
	address := *c.base
	if r.Path != "" {
		address.Path = strings.TrimSuffix(address.Path, "/") + "/" + strings.TrimPrefix(r.Path, "/")
		address.RawPath = ""
	}
	if len(r.Query) > 0 {
		address.RawQuery = r.Query.Encode()
	}
	body := r.Body
	if r.JSON != nil {
		var err error
		if body, err = json.Marshal(r.JSON); err != nil {
			return Answer{}, registry.Errorf(registry.Invalid, "%s: %w", r.What, err)
		}
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, address.String(), bytes.NewReader(body))
	if err != nil {
		return Answer{}, registry.Errorf(registry.Invalid, "%s: the request cannot be made", r.What)
	}
	for name, values := range r.Header {
		request.Header[name] = values
	}
	if body != nil && request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	c.auth.Apply(request)
	response, err := c.client.Do(request)
	if err != nil {
		return Answer{}, c.failed(r.What, err)
	}
	defer response.Body.Close() //nolint:errcheck // nothing is left to read
	read, err := io.ReadAll(io.LimitReader(response.Body, MaxBody+1))
	if err != nil {
		return Answer{}, c.failed(r.What, err)
	}
	if len(read) > MaxBody {
		return Answer{}, registry.Errorf(registry.Unreachable, "%s: the answer is longer than %d bytes", r.What, MaxBody)
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: read, conn: c, what: r.What}, nil
}

func (c *Conn) failed(what string, err error) *registry.Error {
	failure := registry.FromTransport(err)
	return &registry.Error{Reason: failure.Reason, Err: errors.New(c.Redact(what + ": " + failure.Error()))}
}

// Redact takes every credential out of a text.
func (c *Conn) Redact(text string) string {
	for _, secret := range c.secrets {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	return text
}

// OK says whether the answer is a 2xx.
func (a Answer) OK() bool { return a.Status >= 200 && a.Status < 300 }

// Decode reads the body as JSON into a value. What is no JSON did not come from the registry, but from something in between.
func (a Answer) Decode(into any) error {
	if err := json.Unmarshal(a.Body, into); err != nil {
		return registry.Errorf(registry.Unreachable, "%s: the answer is not the JSON of the registry", a.what)
	}
	return nil
}

// Error is the error of an answer that no rule of the backend explains better; said is what the registry wrote, or empty to
// leave it out.
func (a Answer) Error(said string) *registry.Error {
	failure := registry.FromStatus(a.what, a.Status, a.Header, a.conn.Redact(said))
	if a.Status >= 300 && a.Status < 400 {
		failure = registry.Errorf(registry.Invalid, "%s: the registry answered %d, a redirect; its URL has to be the one it leads to",
			a.what, a.Status)
	}
	return failure
}

// Reasoned is the error of an answer whose meaning the backend knows.
func (a Answer) Reasoned(reason registry.Reason, said string) *registry.Error {
	text := fmt.Sprintf("%s: the registry answered %d", a.what, a.Status)
	if said = registry.OneLine(a.conn.Redact(said)); said != "" {
		text += ": " + said
	}
	return &registry.Error{Reason: reason, RetryAfter: registry.RetryAfter(a.Header, time.Now()), Err: errors.New(text)}
}
