// Command modelserver serves a small sentiment model (VADER, rules and a lexicon of 7500 words) over HTTP.
//
// It stands in for a model server in the demo and in the tests of the operator: it answers truthfully, and it can be
// told to load slowly, fail its health check, use memory, crash and build a queue. It must not need anything but its
// own binary: no files, no network, no particular user.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	os.Exit(start(os.Args[1:]))
}

func start(args []string) int {
	opts, err := parseOptions(args, os.LookupEnv, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "modelserver: %v\nmodelserver --help lists every option\n", err)
		return 2
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", ":"+strconv.Itoa(opts.Port))
	if err != nil {
		log.Error("Cannot listen", "error", err.Error())
		return 1
	}
	if err := run(ctx, opts, listener, log, os.Exit); err != nil {
		log.Error("Stopped", "error", err.Error())
		return 1
	}
	return 0
}

// run serves on the listener until ctx ends, then lets the requests in flight finish. The model is loaded while the
// server already listens, as real servers do, so that probes see 503 and not a refused connection.
func run(ctx context.Context, opts options, listener net.Listener, log *slog.Logger, exit func(int)) error {
	server := newServer(opts)
	web := &http.Server{Handler: server, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- web.Serve(listener) }()
	log.Info("Listening", "address", listener.Addr().String(), "path", opts.Path,
		"model", opts.ModelName, "version", opts.ModelVersion)

	faults, cancel := context.WithCancel(ctx)
	defer cancel()
	go crashLater(faults, opts, log, exit)
	go func() {
		if server.load(faults) == nil {
			log.Info("Loaded the model", "allocatedMiB", opts.AllocateMiB)
		}
	}()

	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("Stopping, requests in flight are finished first", "timeout", opts.ShutdownTimeout.String())
	server.draining.Store(true)
	drain, done := context.WithTimeout(context.WithoutCancel(ctx), opts.ShutdownTimeout)
	defer done()
	if err := web.Shutdown(drain); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	return nil
}
