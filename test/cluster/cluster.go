// Package cluster gives tests a Kubernetes cluster: the one that KUBECONFIG names, or a localkube of their own that ends
// with the test process. It starts and stops clusters and installs nothing into them.
package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// stopGrace covers the removal of a real node's pods.
const stopGrace = 60 * time.Second

// Options says what the test needs of the cluster. All but Dir is ignored for a cluster given by KUBECONFIG.
type Options struct {
	// Nodes are the simulated nodes; `localkube up --help` tells the syntax.
	Nodes []string
	// RealNode is auto, on or off; empty means off, for most tests need no running pods.
	RealNode string
	// AuditLog records every request; see Cluster.AuditLog.
	AuditLog bool
	// Dir is the cluster's folder; a temporary one if empty.
	Dir string
	// Args are further arguments of `localkube up`.
	Args []string
	// Progress is written to while the cluster starts and stops; nil keeps it quiet.
	Progress io.Writer
}

// Cluster is a running cluster. Stop it when done.
type Cluster struct {
	// Config reaches it as an administrator, without client-side throttling.
	Config     *rest.Config
	Kubeconfig string
	// Local is false when the cluster was given by KUBECONFIG.
	Local bool
	// RealNode says whether containers really run; if not, RealNodeReason says why.
	RealNode       bool
	RealNodeReason string
	// AuditLog is a file with one JSON event a line, or empty.
	AuditLog string
	// Kubectl is a kubectl to use with Kubeconfig.
	Kubectl string

	localkube, dir string
	cmd            *exec.Cmd
	stdin          io.Closer
	exited         chan struct{}
	output         *tail
}

// state is what localkube says about a cluster in its folder's localkube.json.
type state struct {
	AuditLog       string `json:"auditLog"`
	RealNode       bool   `json:"realNode"`
	RealNodeReason string `json:"realNodeReason"`
}

// Start returns a cluster that is ready for use.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{exited: make(chan struct{}), output: &tail{also: options.Progress}}
	root, err := repositoryRoot()
	if err != nil {
		return nil, err
	}
	c.localkube = filepath.Join(root, "bin", "localkube")
	c.Kubectl = filepath.Join(root, "bin", "kubectl")
	if c.Kubeconfig = os.Getenv("KUBECONFIG"); c.Kubeconfig != "" {
		return c, c.use()
	}
	if _, err := os.Stat(c.localkube); err != nil {
		return nil, fmt.Errorf("%s is not built: run `make localkube` first (10 to 20 minutes, once), or set KUBECONFIG", c.localkube)
	}
	if err := c.start(ctx, options); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// use takes the cluster that KUBECONFIG names.
func (c *Cluster) use() error {
	c.dir = filepath.Dir(c.Kubeconfig)
	c.RealNode = true
	if _, err := os.Stat(c.Kubectl); err != nil {
		c.Kubectl = "kubectl"
	}
	if _, err := os.Stat(filepath.Join(c.dir, "localkube.json")); err != nil {
		c.dir = "" // not a localkube, but somebody's cluster
	}
	return c.connect()
}

func (c *Cluster) start(ctx context.Context, options Options) (err error) {
	c.Local = true
	c.dir = options.Dir
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "localkube-"); err != nil {
			return fmt.Errorf("make the cluster's folder: %w", err)
		}
	}
	realNode := options.RealNode
	if realNode == "" {
		realNode = "off"
	}
	args := []string{"up", "--dir", c.dir, "--exit-with-parent", "--real-node", realNode, fmt.Sprintf("--audit-log=%t", options.AuditLog)}
	for _, node := range options.Nodes {
		args = append(args, "--node", node)
	}
	c.cmd = exec.Command(c.localkube, append(args, options.Args...)...)
	c.cmd.Stderr = c.output
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the test, which then stops the cluster
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return fmt.Errorf("start localkube: %w", err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start localkube: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start localkube: %w", err)
	}
	ready := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		ready <- strings.TrimSpace(line)
		_, _ = io.Copy(io.Discard, stdout)
		_ = c.cmd.Wait()
		close(c.exited)
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("start localkube: %w", context.Cause(ctx))
	case line := <-ready:
		kubeconfig, ok := strings.CutPrefix(line, "ready KUBECONFIG=")
		if !ok {
			<-c.exited
			return fmt.Errorf("start localkube:\n%s", c.output)
		}
		c.Kubeconfig = kubeconfig
	}
	return c.connect()
}

// connect reads how to reach the cluster and what it offers.
func (c *Cluster) connect() (err error) {
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.Config.QPS = -1
	if c.dir == "" {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(c.dir, "localkube.json"))
	if err != nil {
		return fmt.Errorf("read the cluster's state: %w", err)
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("read the cluster's state: %w", err)
	}
	c.AuditLog, c.RealNode, c.RealNodeReason = s.AuditLog, s.RealNode, s.RealNodeReason
	return nil
}

// Stop ends the cluster and removes its folder; that of a cluster which failed stays, for its logs. A cluster given by
// KUBECONFIG is left alone.
func (c *Cluster) Stop() error {
	if c.Local {
		defer func() { _ = os.Remove(c.dir) }() // ours and empty, if localkube did not get as far as using it
	}
	if !c.Local || c.cmd == nil || c.cmd.Process == nil {
		return nil
	}
	_ = c.stdin.Close()
	select {
	case <-c.exited:
	case <-time.After(stopGrace):
		_ = c.cmd.Process.Kill()
		<-c.exited
		return fmt.Errorf("localkube did not stop within %s and was killed:\n%s", stopGrace, c.output)
	}
	return nil
}

// LoadImage makes an image from a static Linux binary, or takes the one in a folder in the OCI image layout, and gives it to the
// real node. Without a real node there is nothing to do; a cluster that is no localkube gets its images in its own way, which
// is an error here.
func (c *Cluster) LoadImage(ctx context.Context, ref, source string) error {
	if !c.RealNode {
		return nil
	}
	if c.dir == "" {
		return fmt.Errorf("bring the image %s to the cluster of %s yourself", ref, c.Kubeconfig)
	}
	output, err := exec.CommandContext(ctx, c.localkube, "image", "load", "--dir", c.dir, "--ref", ref, source).CombinedOutput()
	if err != nil {
		return fmt.Errorf("load image %s: %w: %s", ref, err, bytes.TrimSpace(output))
	}
	return nil
}

// repositoryRoot is the nearest folder above that holds localkube's sources: tests run in their package's folder.
func repositoryRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "test", "localkube", "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find the repository: no folder above this one holds test/localkube")
		}
		dir = filepath.Dir(dir)
	}
}

// tail keeps the end of what localkube says, for errors.
type tail struct {
	also io.Writer

	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const limit = 16 << 10
	if t.text = append(t.text, p...); len(t.text) > limit {
		t.text = t.text[len(t.text)-limit:]
	}
	if t.also != nil {
		_, _ = t.also.Write(p)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
