package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// credentials are the secrets of one cluster, made anew at every start. All files are readable by their owner only.
type credentials struct {
	// Token is the administrator's bearer token; tokenFile tells the API server of it.
	Token     string
	tokenFile string
	// serviceAccountKey signs and verifies service account tokens.
	serviceAccountKey string
	// clientCA signs the two certificates with which the API server calls others: the kubelet, and aggregated API servers.
	clientCA                      string
	kubeletClientCert, kubeletKey string
	proxyClientCert, proxyKey     string
}

func newCredentials(dir string) (*credentials, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder for credentials: %w", err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	c := &credentials{
		Token: hex.EncodeToString(random), tokenFile: in("tokens.csv"), serviceAccountKey: in("service-account.key"), clientCA: in("client-ca.crt"),
		kubeletClientCert: in("kubelet-client.crt"), kubeletKey: in("kubelet-client.key"),
		proxyClientCert: in("front-proxy.crt"), proxyKey: in("front-proxy.key"),
	}
	if err := os.WriteFile(c.tokenFile, []byte(c.Token+",localkube-admin,localkube-admin,system:masters\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the token file: %w", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048) // service account tokens are signed with RSA by convention
	if err != nil {
		return nil, fmt.Errorf("make the service account key: %w", err)
	}
	if err := writePEM(c.serviceAccountKey, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)); err != nil {
		return nil, err
	}
	return c, c.issue()
}

// issue makes the client CA and what it signs.
func (c *credentials) issue() error {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the client CA: %w", err)
	}
	ca := certificate("localkube-client-ca", 1)
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return fmt.Errorf("make the client CA: %w", err)
	}
	if err := writePEM(c.clientCA, "CERTIFICATE", der); err != nil {
		return err
	}
	for i, leaf := range []struct{ name, cert, key string }{
		{"kube-apiserver-kubelet-client", c.kubeletClientCert, c.kubeletKey},
		{"front-proxy-client", c.proxyClientCert, c.proxyKey},
	} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return fmt.Errorf("make the key of %s: %w", leaf.name, err)
		}
		der, err := x509.CreateCertificate(rand.Reader, certificate(leaf.name, int64(i)+2), ca, key.Public(), caKey)
		if err != nil {
			return fmt.Errorf("make the certificate of %s: %w", leaf.name, err)
		}
		keyDER, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return fmt.Errorf("encode the key of %s: %w", leaf.name, err)
		}
		if err := writePEM(leaf.cert, "CERTIFICATE", der); err != nil {
			return err
		}
		if err := writePEM(leaf.key, "EC PRIVATE KEY", keyDER); err != nil {
			return err
		}
	}
	return nil
}

func certificate(name string, serial int64) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, SerialNumber: big.NewInt(serial),
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func writePEM(path, kind string, der []byte) error {
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
