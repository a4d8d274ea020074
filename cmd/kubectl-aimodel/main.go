// Command kubectl-aimodel is a plugin of kubectl, which runs it as `kubectl aimodel`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/aimodel-operator/aimodel-operator/internal/cli"
)

// version is set when the plugin is built.
var version = "development"

func main() {
	// What libraries log is for programs that run for long; a command says what is wrong by itself.
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.Options{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Version: version, Now: time.Now})
	stop()
	os.Exit(code)
}
