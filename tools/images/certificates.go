package main

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// certificatesPath is where Go, curl and others look on Linux. More authorities can be mounted beside it.
	certificatesPath   = "/etc/ssl/certs/ca-certificates.crt"
	certificatesModule = "golang.org/x/crypto/x509roots/fallback"
)

// writeCertificates prints the certificate authorities that Mozilla trusts for servers, as a Go module carries them: which
// ones those are is pinned by go.sum. Roots that are trusted with restrictions which a PEM file cannot express are left out.
func writeCertificates(out io.Writer) error {
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return fmt.Errorf("read a certificate of %s: %w", certificatesModule, err)
		}
		if _, err := fmt.Fprintf(out, "# %s\n", certificate.Subject); err != nil {
			return err
		}
		if err := pem.Encode(out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return err
		}
	}
	return nil
}
