package realnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwardAPI lets pods reach the API server as they do everywhere, at the address of the Service kubernetes, until ctx ends. There is
// no kube-proxy: the bridge has that address, and what arrives there is passed on. Bound to the bridge, it serves the pods of
// this node and nobody else, so that several nodes can do this beside each other.
func forwardAPI(ctx context.Context, bridge, service, server string) error {
	bound := func(_, _ string, raw syscall.RawConn) error {
		var failure error
		err := raw.Control(func(fd uintptr) { failure = unix.BindToDevice(int(fd), bridge) })
		return errors.Join(err, failure)
	}
	listener, err := (&net.ListenConfig{Control: bound}).Listen(ctx, "tcp4", net.JoinHostPort(service, "443"))
	if err != nil {
		return fmt.Errorf("take connections of pods to the API server: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil:
				fmt.Fprintln(os.Stderr, "Take a connection to the API server:", err)
			default:
				go passOn(ctx, connection, server)
			}
		}
	}()
	return nil
}

// passOn connects a connection with a server until both sides have said all.
func passOn(ctx context.Context, client net.Conn, server string) {
	defer func() { _ = client.Close() }()
	upstream, err := (&net.Dialer{}).DialContext(ctx, "tcp", server)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Pass a connection on to the API server:", err)
		return
	}
	defer func() { _ = upstream.Close() }()
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), upstream.Close() })
	defer stop()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{upstream, client}, {client, upstream}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			if half, ok := way[0].(*net.TCPConn); ok {
				_ = half.CloseWrite()
			}
		})
	}
	both.Wait()
}
