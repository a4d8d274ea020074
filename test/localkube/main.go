// Command localkube is a whole Kubernetes control plane in one binary. Called by the name of one of its programs, or with
// that name as the first argument, it is that program; otherwise it is the supervisor's command line.
package main

import (
	"os"
	"path/filepath"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/cli"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/lifeline"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/programs"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/realnode"
)

func main() {
	name := filepath.Base(os.Args[0])
	if _, ok := programs.Lookup(name); !ok && name != realnode.Program && len(os.Args) > 1 {
		name = os.Args[1]
		if _, ok := programs.Lookup(name); ok {
			os.Args = os.Args[1:]
		}
	}
	if name == realnode.Program {
		os.Exit(realnode.Run()) // it watches its lifeline itself: there is much to clean up
	}
	if run, ok := programs.Lookup(name); ok {
		lifeline.Watch()
		os.Exit(run())
	}
	os.Exit(cli.Run())
}
