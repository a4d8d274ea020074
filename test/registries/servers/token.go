package servers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	tokenService = "the-registry-of-the-test"
	tokenIssuer  = "the-token-service-of-the-test"
	// tokenLeeway is how long a docker-registry takes a token after its end.
	tokenLeeway = time.Minute
)

// Tokens is a token service as the distribution specification describes it: it exchanges a user name and a password for signed tokens.
type Tokens struct {
	// URL is its address, and Certificate the file with the certificate of its key.
	URL, Certificate string
	User, Password   string

	key         *ecdsa.PrivateKey
	certificate []byte

	lock sync.Mutex
	// actions are those that it gives, of those that are asked for; lifetime is how long a registry takes a token.
	actions  []string
	lifetime time.Duration
	issued   []string
}

// StartTokens starts a token service, which gives one user all that is asked for.
func StartTokens(t testing.TB) *Tokens {
	t.Helper()
	s := &Tokens{User: "operator", Password: "the-password-of-the-test", Certificate: filepath.Join(t.TempDir(), "tokens.pem")}
	var err error
	if s.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: tokenIssuer},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	if s.certificate, err = x509.CreateCertificate(rand.Reader, template, template, s.key.Public(), s.key); err != nil {
		t.Fatal(err)
	}
	write(t, s.Certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.certificate})))
	s.Give(time.Hour, "pull", "push", "delete")
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL + "/token"
	return s
}

// Give says for how long tokens are good from now on, and for which actions.
func (s *Tokens) Give(lifetime time.Duration, actions ...string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.lifetime, s.actions = lifetime, actions
}

// Issued are the tokens that were asked for, in their order.
func (s *Tokens) Issued() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.issued)
}

// ServeHTTP gives a token to who has the password.
func (s *Tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if user, password, ok := r.BasicAuth(); !ok || user != s.User || password != s.Password {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"errors":[{"code":"UNAUTHORIZED","message":"wrong user name or password"}]}`))
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	var scopes []string
	for _, scope := range r.URL.Query()["scope"] {
		scopes = append(scopes, strings.Fields(scope)...)
	}
	token, err := s.sign(scopes, s.lifetime, s.actions)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	s.issued = append(s.issued, token)
	_ = json.NewEncoder(w).Encode(map[string]any{"token": token, "expires_in": int(s.lifetime.Seconds())})
}

// For is a token for all actions on a repository, as an administrator has it.
func (s *Tokens) For(t testing.TB, repository string) string {
	t.Helper()
	all := []string{"pull", "push", "delete"}
	token, err := s.sign([]string{"repository:" + repository + ":" + strings.Join(all, ",")}, time.Hour, all)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

type access struct {
	Type    string   `json:"type"`
	Name    string   `json:"name"`
	Actions []string `json:"actions"`
}

// sign makes a token for the scopes, as far as the actions allow.
func (s *Tokens) sign(scopes []string, lifetime time.Duration, actions []string) (string, error) {
	granted := []access{}
	for _, scope := range scopes {
		kind, rest, _ := strings.Cut(scope, ":")
		at := strings.LastIndex(rest, ":")
		if at < 0 {
			continue
		}
		wanted := strings.Split(rest[at+1:], ",")
		granted = append(granted, access{kind, rest[:at], slices.DeleteFunc(wanted, func(action string) bool {
			return !slices.Contains(actions, action)
		})})
	}
	now := time.Now()
	end := now.Add(lifetime - tokenLeeway)
	header, err := json.Marshal(map[string]any{
		"typ": "JWT", "alg": "ES256", "x5c": []string{base64.StdEncoding.EncodeToString(s.certificate)},
	})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"iss": tokenIssuer, "aud": tokenService, "sub": s.User, "access": granted, "jti": rand.Text(),
		"iat": now.Add(-time.Hour).Unix(), "nbf": now.Add(-time.Hour).Unix(), "exp": end.Unix(),
	})
	if err != nil {
		return "", err
	}
	signed := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
	sum := sha256.Sum256([]byte(signed))
	r, v, err := ecdsa.Sign(rand.Reader, s.key, sum[:])
	if err != nil {
		return "", err
	}
	const half = 32
	signature := v.FillBytes(make([]byte, half))
	signature = append(r.FillBytes(make([]byte, half)), signature...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature), nil
}

// config is what the configuration of a docker-registry says of the service.
func (s *Tokens) config() string {
	return fmt.Sprintf("auth: {token: {realm: '%s', service: %s, issuer: %s, rootcertbundle: %s}}\n", s.URL, tokenService, tokenIssuer, s.Certificate)
}
