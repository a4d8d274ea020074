package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/process"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/realnode"
)

// Mode says whether a real node is wanted.
type Mode string

// With Auto a machine that cannot run containers is told of and done without; with On it is an error.
const (
	Auto Mode = "auto"
	On   Mode = "on"
	Off  Mode = "off"
)

// Set makes a Mode a command-line flag.
func (m *Mode) Set(text string) error {
	switch mode := Mode(text); mode {
	case Auto, On, Off:
		*m = mode
		return nil
	}
	return fmt.Errorf("%q is not auto, on or off", text)
}

func (m *Mode) String() string { return string(*m) }

// Type names the flag's values in --help.
func (*Mode) Type() string { return "auto|on|off" }

// realNodeGrace is how long the real node may take to remove its pods before it is killed, and cleaned up after.
const realNodeGrace = 40 * time.Second

// checkRealNode finds out whether this machine can run one, before anything is started.
func (c *Cluster) checkRealNode(context.Context) (err error) {
	if c.options.RealNode == Off || c.options.RealNode == "" {
		c.State.RealNodeReason = "not asked for (--real-node=off)"
		return nil
	}
	if c.cniDir, err = realnode.Check(filepath.Dir(c.options.Binary)); err != nil {
		return c.noRealNode(err)
	}
	return nil
}

// startRealNode starts the guard of the real node and returns at once: the node comes up while the control plane does.
func (c *Cluster) startRealNode(context.Context) error {
	if c.cniDir == "" {
		return nil
	}
	config := realnode.Config{
		ID: realnode.ID(c.options.Dir), LogDir: c.layout.path("logs"), BinDir: filepath.Dir(c.options.Binary), CNIDir: c.cniDir,
		Kubeconfig: c.State.Kubeconfig, ClientCA: c.layout.creds.clientCA, Server: c.layout.address(), APIService: apiService,
	}
	path, err := config.Write(c.options.Dir)
	if err != nil {
		return err
	}
	c.options.Progress("Starting the real node: containerd and kubelet")
	c.realNode, err = process.Start(c.line, process.Spec{Name: realnode.Program, Binary: c.options.Binary, LogDir: c.layout.path("logs"), Args: []string{path}})
	return err
}

// noRealNode goes on without the node, unless it was insisted on.
func (c *Cluster) noRealNode(reason error) error {
	if c.options.RealNode == On {
		return fmt.Errorf("no real node: %w", reason)
	}
	line, _, _ := strings.Cut(reason.Error(), "\n")
	c.State.RealNodeReason = line
	c.options.Progress("No real node, pods are simulated only: %s", line)
	return nil
}

// awaitRealNode waits until the node is Ready and gives it the GPUs it shall pretend to have.
func (c *Cluster) awaitRealNode(ctx context.Context) error {
	if c.realNode == nil {
		return nil
	}
	ready := func(ctx context.Context) error { return nodeReady(ctx, c.Client, realnode.Name) }
	if err := c.realNode.Await(ctx, "the real node is Ready", ready); err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return err
		}
		c.stopRealNode()
		return c.noRealNode(err)
	}
	c.State.RealNode, c.State.RealNodeName = true, realnode.Name
	c.State.Components[realnode.Program] = Component{PID: c.realNode.PID(), Log: c.realNode.Log}
	if c.options.RealNodeGPUs == 0 {
		return nil
	}
	gpus := map[string]string{"nvidia.com/gpu": strconv.Itoa(c.options.RealNodeGPUs)}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": gpus, "allocatable": gpus}})
	if err != nil {
		return fmt.Errorf("encode the real node's GPUs: %w", err)
	}
	if _, err := c.Client.CoreV1().Nodes().Patch(ctx, realnode.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("give the real node its GPUs: %w", err)
	}
	return nil
}

// stopRealNode lets the guard take the node away, and does so itself should the guard have been killed.
func (c *Cluster) stopRealNode() {
	if c.realNode == nil {
		return
	}
	c.options.Progress("Stopping the real node")
	c.realNode.Stop(realNodeGrace)
	c.realNode = nil
	if err := realnode.Clean(realnode.ID(c.options.Dir)); err != nil {
		c.options.Progress("Clean up after the real node: %v", err)
	}
}

// removeLeftovers removes what a killed cluster left in the folder and on the machine.
func removeLeftovers(dir string) error {
	if err := realnode.Clean(realnode.ID(dir)); err != nil {
		return fmt.Errorf("clean up after the cluster that was here before: %w", err)
	}
	return emptyFolder(dir)
}
