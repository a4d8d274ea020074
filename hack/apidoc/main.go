// Command apidoc writes the API reference: a page of Markdown that tells, of each field of each kind, its type, whether it is
// required, its default, its bounds and the rules it must keep.
//
//	apidoc -api api/v1,api/v1alpha1 -crds config/crd/bases -out docs/api-reference.md
//
// What the API server checks is read from the generated definitions, so that the page cannot promise something else. The Go
// types give what definitions do not have: the names of types, their comments, and the conditions and reasons of status.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	api := flag.String("api", "api/v1,api/v1alpha1", "the `folders` of the Go types, with commas between them")
	crds := flag.String("crds", "config/crd/bases", "the `folder` of the definitions")
	out := flag.String("out", "docs/api-reference.md", "the `file` to write")
	flag.Parse()
	if err := run(*api, *crds, *out); err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		os.Exit(1)
	}
}

func run(api, crds, out string) error {
	source, err := readSource(strings.Split(api, ",")...)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("there are no definitions in %s", crds)
	}
	var definitions []definition
	for _, file := range files {
		d, err := readDefinition(file)
		if err != nil {
			return err
		}
		definitions = append(definitions, d)
	}
	page, err := newPage(source, definitions).render()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return fmt.Errorf("make room for the page: %w", err)
	}
	if err := os.WriteFile(out, []byte(page), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
