package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// serve stands in for a model server: it answers every request on the port that the operator gives a server.
func serve(ctx context.Context) error {
	port := os.Getenv("PORT")
	if port == "" {
		return errors.New("serve: PORT is not set, which the operator sets for a model server")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+port)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, `{"model": "stand-in"}`)
	})}
	stopped := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	})
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// ownImage is the image that this program was started from, which can serve, if it runs in a pod.
func (c *check) ownImage(ctx context.Context) (string, error) {
	if os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		return "", nil
	}
	name, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("find the own pod: %w", err)
	}
	pod := &corev1.Pod{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, pod); err != nil {
		return "", fmt.Errorf("find the own pod, whose image serves the samples where --image names no other: %w", err)
	}
	return pod.Spec.Containers[0].Image, nil
}
