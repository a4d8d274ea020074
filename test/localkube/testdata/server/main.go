// Command server is what the tests of the real node run: it answers, logs, exits and takes memory on request.
package main

import (
	"fmt"
	"log"
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
	log.Print("Listening on :8080")
	log.Fatal(http.ListenAndServe(":8080", nil))
}
