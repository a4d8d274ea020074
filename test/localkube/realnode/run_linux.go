package realnode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/image"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/lifeline"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/process"
)

// startTimeout bounds the start of containerd and the import of the first image.
const startTimeout = 45 * time.Second

// Run is the guard process: it takes the path of its configuration as the only argument, runs the node until it is told to
// stop, its parent is gone or a part of the node ends, and then takes everything away. It returns the exit status.
func Run() int {
	// The kernel ends containerd with the thread that started it; the main thread lives as long as the process.
	runtime.LockOSThread()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: "+Program+" CONFIG (localkube starts this by itself)")
		return 2
	}
	config, err := readConfig(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if gone := lifeline.Gone(); gone != nil {
		go func() {
			<-gone
			stop()
		}()
	}
	n := &node{config: config}
	err = n.run(ctx)
	n.stop()
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type node struct {
	config              Config
	address             net.IP
	line                *lifeline.Line
	containerd, kubelet *process.Process
}

func (n *node) run(ctx context.Context) (err error) {
	if err := Clean(n.config.ID); err != nil {
		return err
	}
	if err := rememberForwarding(Base(n.config.ID)); err != nil {
		return err
	}
	ports, err := process.FreePorts(1)
	if err != nil {
		return err
	}
	if err := makeCgroups(cgroupRoot(n.config.ID)); err != nil {
		return err
	}
	subnet, err := freeSubnet(n.config.ID)
	if err != nil {
		return err
	}
	n.address = gateway(subnet)
	if err := makeBridge(bridge(n.config.ID), n.address, net.ParseIP(n.config.APIService)); err != nil {
		return err
	}
	if err := forwardAPI(ctx, bridge(n.config.ID), n.config.APIService, n.config.Server); err != nil {
		return err
	}
	if err := n.config.writeConfigs(subnet, ports[0]); err != nil {
		return err
	}
	if n.line, err = lifeline.New(); err != nil {
		return err
	}
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := n.startContainerd(starting); err != nil {
		return err
	}
	if err := n.startKubelet(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-n.containerd.Exited():
		return n.containerd.Explain(errors.New("ended unexpectedly"))
	case <-n.kubelet.Exited():
		return n.kubelet.Explain(errors.New("ended unexpectedly"))
	}
}

// startContainerd returns when it serves, and has the image that every pod's sandbox runs.
func (n *node) startContainerd(ctx context.Context) (err error) {
	base := Base(n.config.ID)
	n.containerd, err = process.Start(n.line, process.Spec{
		Name: "containerd", Binary: filepath.Join(n.config.BinDir, "containerd"), LogDir: n.config.LogDir,
		Args: []string{"--config", filepath.Join(base, "containerd.toml")},
		// It looks for its shim there.
		Env:              []string{"PATH=" + n.config.BinDir + ":" + os.Getenv("PATH")},
		KilledWithThread: true,
	})
	if err != nil {
		return err
	}
	if err := n.containerd.Await(ctx, "it answers", func(ctx context.Context) error { return criAnswers(ctx, n.config.ID) }); err != nil {
		return err
	}
	return Import(ctx, n.config.ID, n.config.BinDir, image.Spec{Ref: PauseImage, Binary: filepath.Join(n.config.BinDir, "localkube-pause"), User: "65535:65535"})
}

func (n *node) startKubelet() (err error) {
	base := Base(n.config.ID)
	n.kubelet, err = process.Start(n.line, process.Spec{
		Name: "kubelet", Binary: filepath.Join(n.config.BinDir, "localkube"), LogDir: n.config.LogDir,
		Args: []string{
			"--config=" + filepath.Join(base, "kubelet.yaml"), "--kubeconfig=" + n.config.Kubeconfig, "--hostname-override=" + Name,
			"--node-ip=" + n.address.String(), "--root-dir=" + filepath.Join(base, "kubelet"), "--cert-dir=" + filepath.Join(base, "kubelet-pki"),
			"--node-labels=" + TypeLabel + "=" + TypeReal + "," + Label + "=" + LabelValue,
		},
	})
	return err
}

// stop takes the node down: first the kubelet, which would start things again, then the pods by way of containerd, which
// gives their networks back, then containerd, and at last what is left.
func (n *node) stop() {
	if n.kubelet != nil {
		n.kubelet.Stop(0)
	}
	if n.containerd != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		if err := removeSandboxes(ctx, n.config.ID); err != nil {
			fmt.Fprintln(os.Stderr, "Remove the pods:", err)
		}
		cancel()
		n.containerd.Stop(5 * time.Second)
	}
	if n.line != nil {
		n.line.Close()
	}
	if err := Clean(n.config.ID); err != nil {
		fmt.Fprintln(os.Stderr, "Clean up:", err)
	}
}

// Import makes an image and gives it to the node of that ID.
func Import(ctx context.Context, id, binDir string, spec image.Spec) error {
	return load(ctx, id, binDir, spec.Ref, func(w io.Writer) error { return image.Write(w, spec) })
}

// ImportLayout gives the image in a folder, in the OCI image layout, to the node of that ID.
func ImportLayout(ctx context.Context, id, binDir, ref, folder string) error {
	return load(ctx, id, binDir, ref, func(w io.Writer) error { return image.WriteLayout(w, ref, folder) })
}

func load(ctx context.Context, id, binDir, ref string, write func(io.Writer) error) error {
	file, err := os.CreateTemp("", "localkube-image-*.tar")
	if err != nil {
		return fmt.Errorf("make the image: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	err = write(file)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("make the image %s: %w", ref, err)
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, "ctr"), "--address", Socket(id), "--namespace", "k8s.io", "images", "import", file.Name())
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("import the image %s: %w: %s", ref, err, strings.TrimSpace(output.String()))
	}
	return nil
}
