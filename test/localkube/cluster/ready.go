package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/process"
)

// awaitHTTP waits until the URL answers 200. A component's own certificate is made in memory and not known to us: it is
// not checked, and nothing secret is sent.
func awaitHTTP(ctx context.Context, p *process.Process, url string) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: 2 * time.Second}
	return p.Await(ctx, "it is healthy", func(ctx context.Context) error { return get(ctx, client, url, "") })
}

// awaitAPIServer waits until the API server says that it is ready, over a connection verified with the certificate that
// it has written by then.
func awaitAPIServer(ctx context.Context, p *process.Process, l *layout) error {
	return p.Await(ctx, "it is ready", func(ctx context.Context) error {
		ca, err := os.ReadFile(l.caFile())
		if err != nil {
			return err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(ca)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
		return get(ctx, &http.Client{Transport: transport, Timeout: 2 * time.Second}, l.server()+"/readyz", l.creds.Token)
	})
}

func get(ctx context.Context, client *http.Client, url, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s: %s", url, response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// awaitServiceAccount waits until pods can be created in the default namespace.
func awaitServiceAccount(ctx context.Context, manager *process.Process, client kubernetes.Interface) error {
	return manager.Await(ctx, "the default service account exists", func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// AddNodes creates nodes and waits until they are Ready. The process p is the one that makes them so.
func AddNodes(ctx context.Context, client kubernetes.Interface, nodes []*corev1.Node, p *process.Process) error {
	for _, node := range nodes {
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			if apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("add node %s: a node of that name exists, choose another name=", node.Name)
			}
			return fmt.Errorf("add node %s: %w", node.Name, err)
		}
	}
	for _, node := range nodes {
		err := p.Await(ctx, "node "+node.Name+" is Ready", func(ctx context.Context) error {
			return nodeReady(ctx, client, node.Name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func nodeReady(ctx context.Context, client kubernetes.Interface, name string) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady {
			return fmt.Errorf("node %s still has the taint %s", name, taint.Key)
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			if condition.Status == corev1.ConditionTrue {
				return nil
			}
			return fmt.Errorf("node %s is not Ready: %s", name, condition.Message)
		}
	}
	return fmt.Errorf("node %s has no Ready condition", name)
}
