package realnode

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const debianHint = "apt-get install -y --no-install-recommends runc containernetworking-plugins"

// Check says in one line why this machine cannot run a real node; otherwise it returns the folder of the network plugins.
func Check(binDir string) (cniDir string, err error) {
	if os.Geteuid() != 0 {
		return "", errors.New("containers need root")
	}
	for _, sign := range []string{"/etc/kubernetes/kubelet.conf", "/var/lib/kubelet/config.yaml"} {
		if _, err := os.Stat(sign); err == nil {
			return "", fmt.Errorf("this machine is a Kubernetes node already (%s)", sign)
		}
	}
	for _, name := range []string{"containerd", "containerd-shim-runc-v2", "ctr", "localkube-pause"} {
		if _, err := os.Stat(filepath.Join(binDir, name)); err != nil {
			return "", fmt.Errorf("%s is not built: run `make localkube` as root", filepath.Join(binDir, name))
		}
	}
	if _, err := exec.LookPath("runc"); err != nil {
		return "", fmt.Errorf("runc is not installed (%s)", debianHint)
	}
	if cniDir = findCNI(); cniDir == "" {
		return "", fmt.Errorf("the CNI plugins bridge, host-local and loopback are not installed (%s)", debianHint)
	}
	if err := unix.Access("/sys/fs/cgroup", unix.W_OK); err != nil {
		return "", errors.New("/sys/fs/cgroup is not writable: this looks like a container without privileges")
	}
	return cniDir, mayMount()
}

func findCNI() string {
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"} {
		complete := true
		for _, plugin := range []string{"bridge", "host-local", "loopback"} {
			if _, err := os.Stat(filepath.Join(dir, plugin)); err != nil {
				complete = false
			}
		}
		if complete {
			return dir
		}
	}
	return ""
}

// mayMount tries what every container needs: root inside a container often may not.
func mayMount() error {
	dir, err := os.MkdirTemp("", "localkube-mount-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.Remove(dir) }()
	if err := unix.Mount("localkube", dir, "tmpfs", 0, ""); err != nil {
		return errors.New("this root may not mount: it looks like a container without privileges")
	}
	return unix.Unmount(dir, unix.MNT_DETACH)
}

// snapshotter chooses how images are unpacked: overlayfs is quick, but does not stack on itself, as in a container.
func snapshotter(base string) string {
	dir, err := os.MkdirTemp(base, "overlay-")
	if err != nil {
		return "native"
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return "native"
		}
	}
	merged := filepath.Join(dir, "merged")
	options := fmt.Sprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", dir, dir, dir)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return "native"
	}
	_ = unix.Unmount(merged, unix.MNT_DETACH)
	return "overlayfs"
}
