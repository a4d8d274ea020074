package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestStartAndStop(t *testing.T) {
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "localkube")); err != nil && os.Getenv("KUBECONFIG") == "" {
		t.Skip("SKIPPED: bin/localkube is not built; run `make localkube`")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := Start(ctx, Options{Nodes: []string{"name=gpu"}, AuditLog: true})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	if nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err != nil || len(nodes.Items) == 0 {
		t.Errorf("got %d nodes and error %v, want at least one node", len(nodes.Items), err)
	}
	if info, err := os.Stat(c.AuditLog); c.Local && (err != nil || info.Size() == 0) {
		t.Errorf("the audit log %q is empty or absent: %v", c.AuditLog, err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.dir); c.Local && !os.IsNotExist(err) {
		t.Errorf("the folder %s is still there", c.dir)
	}
}

func TestStartExplainsFailure(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "bin", "localkube")); err != nil {
		t.Skip("SKIPPED: bin/localkube is not built; run `make localkube`")
	}
	_, err = Start(t.Context(), Options{Nodes: []string{"gpus=many"}})
	if err == nil || !strings.Contains(err.Error(), `"many" is not a number`) {
		t.Errorf("got error %v, want one that names the bad number", err)
	}
}
