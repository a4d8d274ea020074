//go:build !linux

package realnode

import (
	"context"
	"errors"
	"runtime"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/image"
)

// Check says why this machine cannot run a real node.
func Check(string) (cniDir string, err error) {
	return "", errors.New("containers need Linux, and this is " + runtime.GOOS)
}

// Run is never reached where Check fails.
func Run() int { return 1 }

// Clean has nothing to do here.
func Clean(string) error { return nil }

// ImportLayout has no node to give an image to.
func ImportLayout(context.Context, string, string, string, string) error {
	return errors.New("there is no real node")
}

// Import has no node to give an image to.
func Import(context.Context, string, string, image.Spec) error {
	return errors.New("there is no real node")
}
