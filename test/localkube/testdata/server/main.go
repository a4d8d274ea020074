// Command server is what the tests of the real node run: it answers, logs, exits, takes memory and asks the API server on request.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

var kept [][]byte // memory that a test asked to be taken

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		log.Printf("Served %s", r.URL.Path)
		_, _ = fmt.Fprintf(w, "hello from user %d", os.Getuid())
	})
	http.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	http.HandleFunc("/eat", func(http.ResponseWriter, *http.Request) {
		for range 64 {
			block := make([]byte, 16<<20)
			for i := range block {
				block[i] = 1
			}
			kept = append(kept, block)
		}
	})
	http.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) {
		if err := version(w); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})
	log.Print("Listening on :8080")
	log.Fatal(http.ListenAndServe(":8080", nil))
}

// version asks the API server for its version, as any program in a pod finds it.
func version(w io.Writer) error {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return err
	}
	token, err := os.ReadFile(account + "token")
	if err != nil {
		return err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	server := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	request, err := http.NewRequest(http.MethodGet, "https://"+server+"/version", http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(w, response.Body)
	return err
}
