// Command olmv1 prints the objects that OLM v1 would install for a bundle, made by the code of its own operator-controller. It
// reaches no cluster.
//
//	olmv1 FOLDER NAMESPACE
//
// That code is internal to its module, so this module has a path below it: nobody else can call it, and it has no command for
// this. The path is not one to get this program by.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"

	"github.com/operator-framework/operator-controller/internal/operator-controller/rukpak/bundle/source"
	"github.com/operator-framework/operator-controller/internal/operator-controller/rukpak/render/registryv1"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "olmv1:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: olmv1 FOLDER NAMESPACE")
	}
	bundle, err := source.FromFS(os.DirFS(args[0])).GetBundle()
	if err != nil {
		return fmt.Errorf("read the bundle: %w", err)
	}
	objects, err := registryv1.Renderer.Render(bundle, args[1])
	if err != nil {
		return fmt.Errorf("render the bundle: %w", err)
	}
	for _, object := range objects {
		data, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("encode %s: %w", object.GetName(), err)
		}
		if _, err := fmt.Fprintf(out, "---\n%s", data); err != nil {
			return err
		}
	}
	return nil
}
