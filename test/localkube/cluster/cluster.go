// Package cluster starts and stops a Kubernetes control plane with simulated nodes, and a real one where the machine allows
// it: child processes of the caller, on free ports of the loopback interface, with one folder for all they write. It
// never touches anything outside that folder, except for what containers on the real node need of the machine, which it
// gives back.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/gpunode"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/lifeline"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/process"
)

// Options say what to start.
type Options struct {
	// Binary is the multi-call binary that holds the programs.
	Binary string
	// Dir is the cluster's folder. It must be absent, empty or left over from a cluster that is gone.
	Dir string
	// Nodes are the simulated nodes.
	Nodes []gpunode.Spec
	// RealNode says whether pods can really run; RealNodeGPUs is the number of GPUs that node pretends to have.
	RealNode     Mode
	RealNodeGPUs int
	// AuditLog records every request in logs/audit.log.
	AuditLog bool
	// Further flags of the programs, which win over those given by default.
	APIServerArgs, ControllerManagerArgs, SchedulerArgs []string
	// Timeout bounds the start; one minute if zero.
	Timeout time.Duration
	// KeepData leaves the folder in place at Stop.
	KeepData bool
	// Progress is told what happens, a line at a time.
	Progress func(format string, args ...any)
}

// Cluster is a running control plane.
type Cluster struct {
	State  State
	Config *rest.Config
	Client kubernetes.Interface

	options   Options
	layout    *layout
	line      *lifeline.Line
	lock      *os.File
	processes []*process.Process
	realNode  *process.Process
	cniDir    string
	failed    chan error
}

// Start returns when the cluster is ready for use: every component answers, the default service account exists and the
// nodes are Ready. On an error everything is stopped and the error carries the end of the log that explains it. The
// caller must call Stop; should this process die first, all children end by themselves.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	if options.Progress == nil {
		options.Progress = func(string, ...any) {}
	}
	if options.Timeout == 0 {
		options.Timeout = time.Minute
	}
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder: %w", err)
	}
	options.Dir = dir
	c := &Cluster{options: options, failed: make(chan error, 1)}
	if c.lock, err = claim(dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, options.Timeout)
	defer cancel()
	if err := c.start(ctx); err != nil {
		// The logs are what is wanted now, if there are any and nobody has lost interest.
		c.options.KeepData = c.options.KeepData || (len(c.processes) > 0 && !errors.Is(ctx.Err(), context.Canceled))
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if c.line, err = lifeline.New(); err != nil {
		return err
	}
	if err := c.prepare(); err != nil {
		return err
	}
	begin := time.Now()
	for _, step := range []func(context.Context) error{c.checkRealNode, c.startStorage, c.startRealNode, c.startControl, c.awaitRealNode, c.addNodes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, p := range c.all() {
		go c.watch(p)
	}
	c.options.Progress("Ready after %.1f s: %s", time.Since(begin).Seconds(), c.layout.server())
	return c.State.write(c.options.Dir)
}

// prepare lays out the folder and picks ports.
func (c *Cluster) prepare() error {
	ports, err := process.FreePorts(5)
	if err != nil {
		return err
	}
	c.layout = &layout{dir: c.options.Dir, etcdPort: ports[0], etcdPeerPort: ports[1], apiPort: ports[2], managerPort: ports[3], schedulerPort: ports[4]}
	if err := os.MkdirAll(c.layout.path("logs"), 0o755); err != nil {
		return fmt.Errorf("make the folder for logs: %w", err)
	}
	if err := c.logProgress(); err != nil {
		return err
	}
	if c.layout.creds, err = newCredentials(c.layout.path("credentials")); err != nil {
		return err
	}
	c.State = State{
		Server: c.layout.server(), Token: c.layout.creds.Token, CAFile: c.layout.caFile(), Kubeconfig: c.layout.path("kubeconfig"),
		PID: os.Getpid(), Components: map[string]Component{},
	}
	if c.options.AuditLog {
		c.State.AuditLog = c.layout.auditLog()
	}
	return nil
}

// logProgress also writes what is told to a log: nobody sees a detached supervisor's output.
func (c *Cluster) logProgress() error {
	log, err := os.Create(c.layout.path("logs", "localkube.log"))
	if err != nil {
		return fmt.Errorf("open the supervisor's log: %w", err)
	}
	tell := c.options.Progress
	c.options.Progress = func(format string, args ...any) {
		_, _ = fmt.Fprintf(log, time.Now().Format(time.RFC3339)+" "+format+"\n", args...)
		tell(format, args...)
	}
	return nil
}

func (c *Cluster) run(name string, args ...string) (*process.Process, error) {
	started, err := process.Start(c.line, process.Spec{Name: name, Binary: c.options.Binary, LogDir: c.layout.path("logs"), Args: args})
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, started)
	c.State.Components[name] = Component{PID: started.PID(), Log: started.Log}
	return started, nil
}

// startStorage brings up etcd and the API server. Both start at once: the server retries until etcd answers.
func (c *Cluster) startStorage(ctx context.Context) error {
	c.options.Progress("Starting etcd and kube-apiserver")
	etcd, err := c.run("etcd", c.layout.etcdArgs()...)
	if err != nil {
		return err
	}
	args, err := c.layout.apiServerArgs(c.options.AuditLog, c.options.APIServerArgs)
	if err != nil {
		return err
	}
	server, err := c.run("kube-apiserver", args...)
	if err != nil {
		return err
	}
	if err := awaitHTTP(ctx, etcd, fmt.Sprintf("http://127.0.0.1:%d/health", c.layout.etcdPort)); err != nil {
		return err
	}
	if err := awaitAPIServer(ctx, server, c.layout); err != nil {
		return err
	}
	if err := writeKubeconfig(c.State); err != nil {
		return err
	}
	if c.Config, err = clientcmd.BuildConfigFromFlags("", c.State.Kubeconfig); err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	c.Config.QPS = -1 // a test's client is not to be slowed down
	c.Client, err = kubernetes.NewForConfig(c.Config)
	return err
}

// startControl brings up what makes the API live.
func (c *Cluster) startControl(ctx context.Context) error {
	c.options.Progress("Starting kube-controller-manager, kube-scheduler and kwok")
	manager, err := c.run("kube-controller-manager", c.layout.managerArgs(c.State.Kubeconfig, c.options.ControllerManagerArgs)...)
	if err != nil {
		return err
	}
	scheduler, err := c.run("kube-scheduler", c.layout.schedulerArgs(c.State.Kubeconfig, c.options.SchedulerArgs)...)
	if err != nil {
		return err
	}
	args, err := c.layout.kwokArgs(c.State.Kubeconfig)
	if err != nil {
		return err
	}
	if _, err = c.run("kwok", args...); err != nil {
		return err
	}
	if err := awaitHTTP(ctx, manager, fmt.Sprintf("https://127.0.0.1:%d/healthz", c.layout.managerPort)); err != nil {
		return err
	}
	if err := awaitHTTP(ctx, scheduler, fmt.Sprintf("https://127.0.0.1:%d/healthz", c.layout.schedulerPort)); err != nil {
		return err
	}
	return awaitServiceAccount(ctx, manager, c.Client)
}

// addNodes creates the simulated nodes and waits until kwok has made them Ready.
func (c *Cluster) addNodes(ctx context.Context) error {
	if len(c.options.Nodes) == 0 {
		return nil
	}
	var nodes []*corev1.Node
	for _, spec := range c.options.Nodes {
		nodes = append(nodes, spec.Nodes(c.State.RealNode)...)
	}
	c.options.Progress("Adding %d simulated nodes", len(nodes))
	return AddNodes(ctx, c.Client, nodes, c.processes[len(c.processes)-1])
}

// watch reports the end of a component that nobody stopped.
func (c *Cluster) watch(p *process.Process) {
	<-p.Exited()
	select {
	case c.failed <- p.Explain(errors.New("ended unexpectedly")):
	default: // one report is enough
	}
}

// Wait returns nil when ctx ends, or the reason when a component has ended by itself. The folder is then kept: its logs
// tell more.
func (c *Cluster) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.failed:
		c.options.KeepData = true
		c.options.Progress("%v", err)
		return err
	}
}

// Dir is the cluster's folder.
func (c *Cluster) Dir() string { return c.options.Dir }

func (c *Cluster) all() []*process.Process {
	if c.realNode == nil {
		return c.processes
	}
	return append([]*process.Process{c.realNode}, c.processes...)
}

// Stop ends everything in order and removes the folder. The real node goes first, while its containers can still be
// taken down properly; the control plane's state is thrown away, so it is simply killed.
func (c *Cluster) Stop() {
	c.stopRealNode()
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].Stop(0)
	}
	if c.line != nil {
		c.line.Close()
	}
	if !c.options.KeepData {
		if err := os.RemoveAll(c.options.Dir); err != nil {
			c.options.Progress("Remove %s: %v", c.options.Dir, err)
		}
	} else {
		_ = os.Remove(StatePath(c.options.Dir))
	}
	_ = c.lock.Close()
}
