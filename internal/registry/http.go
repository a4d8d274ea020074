package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// Transport says how a registry is connected to.
type Transport struct {
	// CABundle is PEM certificates to trust instead of the system's, or empty.
	CABundle []byte
	// ClientCert and ClientKey are the PEM client certificate and its key, or empty.
	ClientCert, ClientKey []byte
	// Timeout bounds a request with its answer.
	Timeout time.Duration
	// UserAgent is how the operator names itself, with its version; without it, only its name.
	UserAgent string
	// ConnsPerHost bounds the connections to one address; 0 means no bound.
	ConnsPerHost int
}

const (
	dialTimeout = 5 * time.Second
	idleTimeout = 90 * time.Second
	maxHops     = 5
)

// NewHTTPClient makes the client of one registry. It follows redirects on the same host only, because requests carry
// credentials and the data of users, and refuses link-local addresses, where clouds serve the credentials of the machine.
func NewHTTPClient(options Transport) (*http.Client, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(options.CABundle) > 0 {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(options.CABundle) {
			return nil, Errorf(Invalid, "the CA bundle holds no certificate")
		}
	}
	if len(options.ClientCert) > 0 || len(options.ClientKey) > 0 {
		pair, err := tls.X509KeyPair(options.ClientCert, options.ClientKey)
		if err != nil {
			// The parser's words quote nothing of the key.
			return nil, Errorf(Invalid, "the client certificate cannot be used: %w", err)
		}
		trust.Certificates = []tls.Certificate{pair}
	}
	agent := options.UserAgent
	if agent == "" {
		agent = "aimodel-operator"
	}
	dialer := &net.Dialer{Timeout: dialTimeout, ControlContext: refuseLinkLocal}
	return &http.Client{
		Timeout: options.Timeout,
		Transport: named{agent: agent, next: &http.Transport{
			Proxy:               viaProxy,
			DialContext:         dialer.DialContext,
			TLSClientConfig:     trust,
			TLSHandshakeTimeout: dialTimeout,
			ForceAttemptHTTP2:   true,
			MaxConnsPerHost:     options.ConnsPerHost,
			IdleConnTimeout:     idleTimeout,
		}},
		CheckRedirect: sameHost,
	}, nil
}

// named gives every request the operator's name, also those that a client library makes.
type named struct {
	agent string
	next  *http.Transport
}

// RoundTrip is http.RoundTripper's.
func (n named) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("User-Agent", n.agent)
	return n.next.RoundTrip(request)
}

// CloseIdleConnections is what http.Client's calls.
func (n named) CloseIdleConnections() { n.next.CloseIdleConnections() }

func sameHost(request *http.Request, via []*http.Request) error {
	if request.URL.Host != via[0].URL.Host || request.URL.Scheme != via[0].URL.Scheme {
		return errors.New("it redirects to another host")
	}
	if len(via) >= maxHops {
		return fmt.Errorf("it redirected %d times", len(via))
	}
	return nil
}

// refuseLinkLocal looks at the address that a name was resolved to, right before the connection is made.
func refuseLinkLocal(_ context.Context, _, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	if ip := target.Addr(); isLinkLocal(ip) {
		return fmt.Errorf("%s is a link-local address", ip.Unmap())
	}
	return nil
}

func isLinkLocal(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsLinkLocalUnicast() || ip.IsLinkLocalMulticast()
}

// viaProxy is the proxy of the environment. A link-local address goes past it and is refused like any other; which address a
// name has, the proxy alone finds out.
func viaProxy(request *http.Request) (*url.URL, error) {
	if ip, err := netip.ParseAddr(request.URL.Hostname()); err == nil && isLinkLocal(ip) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(request)
}
