package registry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func get(t *testing.T, client *http.Client, address string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.Do(request)
	if err == nil {
		err = answer.Body.Close()
	}
	return err
}

func TestTheClientTrustsTheBundleOnly(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, tc := range map[string]struct {
		bundle []byte
		trusts bool
	}{"with it": {bundle, true}, "without": {nil, false}} {
		client, err := NewHTTPClient(Transport{CABundle: tc.bundle, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := get(t, client, server.URL); (err == nil) != tc.trusts {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheClientCertificateIsPresented(t *testing.T) {
	certificate, key := newCertificate(t)
	for name, tc := range map[string]struct {
		certificate, key []byte
		accepted         bool
	}{"with it": {certificate, key, true}, "without": {nil, nil, false}} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			trusted := x509.NewCertPool()
			trusted.AppendCertsFromPEM(certificate)
			server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted, MinVersion: tls.VersionTLS13}
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			defer server.Close()
			client, err := NewHTTPClient(Transport{
				CABundle:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
				ClientCert: tc.certificate, ClientKey: tc.key, Timeout: time.Minute,
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := get(t, client, server.URL); (err == nil) != tc.accepted {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// newCertificate is one for clients that signs itself, and its key.
func newCertificate(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true, IsCA: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

func TestUnusableTransportsAreInvalid(t *testing.T) {
	for name, options := range map[string]Transport{
		"bundle":               {CABundle: []byte("hunter2")},
		"certificate":          {ClientCert: []byte("hunter2"), ClientKey: []byte("hunter2")},
		"key without the rest": {ClientKey: []byte("hunter2")},
	} {
		_, err := NewHTTPClient(options)
		checkReason(t, err, Invalid)
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error quotes it: %v", name, err)
		}
	}
}

func TestRedirectsStayOnTheHost(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other host was asked") }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/near":
			http.Redirect(w, r, "/", http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	client, err := NewHTTPClient(Transport{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/near": "", "/away": "another host", "/round": "redirected 5 times"} {
		err := get(t, client, server.URL+path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestLinkLocalAddressesAreRefused(t *testing.T) {
	client, err := NewHTTPClient(Transport{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:169.254.169.254]/"} {
		if err := get(t, client, address); err == nil || !strings.Contains(err.Error(), "link-local") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestRequestsNameTheOperator(t *testing.T) {
	for agent, want := range map[string]string{"": "aimodel-operator", "aimodel-operator/1.2.3": "aimodel-operator/1.2.3"} {
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got := r.UserAgent(); got != want {
				t.Errorf("it is named %q, want %q", got, want)
			}
		}))
		client, err := NewHTTPClient(Transport{Timeout: time.Minute, UserAgent: agent})
		if err != nil {
			t.Fatal(err)
		}
		if err := get(t, client, server.URL); err != nil {
			t.Error(err)
		}
		server.Close()
	}
}
