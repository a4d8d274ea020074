package realnode

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Clean removes whatever a node of that ID has left on the machine: processes, mounts, cgroups, the bridge and files. It
// needs none of the node's programs and does nothing when there is nothing.
func Clean(id string) error {
	base := Base(id)
	killDaemons(base)
	problems := []error{removeCgroups(cgroupRoot(id)), unmountBelow(base), removeBridge(bridge(id))}
	removeLogLinks(base)
	removeSockets(base)
	results, _ := filepath.Glob("/var/lib/cni/results/" + bridge(id) + "-*")
	for _, result := range results {
		_ = os.Remove(result)
	}
	restoreForwarding(base)
	problems = append(problems, os.RemoveAll(base))
	// The programs insist on these folders. They are removed if nobody else has put anything there.
	for _, dir := range []string{
		"/var/lib/kubelet/device-plugins", "/var/lib/kubelet", "/var/log/containers", "/var/lib/cni/results", "/var/lib/cni",
		"/run/containerd/s", "/run/containerd",
	} {
		_ = os.Remove(dir)
	}
	return errors.Join(problems...)
}

// killDaemons ends a containerd and the shims that work below base, and nothing else: they name it in their arguments.
func killDaemons(base string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		data, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err != nil {
			continue
		}
		arguments := strings.Split(string(data), "\x00")
		program := filepath.Base(arguments[0])
		if program != "containerd" && program != "containerd-shim-runc-v2" {
			continue
		}
		for _, argument := range arguments[1:] {
			if strings.HasPrefix(argument, base+"/") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}

// unmountBelow undoes the mounts in base, the last one first.
func unmountBelow(base string) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	var problems []error
	for i := len(all) - 1; i >= 0; i-- {
		if strings.HasPrefix(all[i].path, base+"/") {
			if err := unix.Unmount(all[i].path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
				problems = append(problems, fmt.Errorf("unmount %s: %w", all[i].path, err))
			}
		}
	}
	return errors.Join(problems...)
}

// removeLogLinks removes the links that the kubelet makes for log collectors.
func removeLogLinks(base string) {
	links, _ := filepath.Glob("/var/log/containers/*.log")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, base+"/") {
			_ = os.Remove(link)
		}
	}
}

// kubeletSocket is where every kubelet listens for device plugins, whatever its root folder is.
const kubeletSocket = "/var/lib/kubelet/device-plugins/kubelet.sock"

// removeSockets removes the sockets outside base that killed shims and the kubelet left: those that nobody listens on.
func removeSockets(base string) {
	sockets := []string{kubeletSocket}
	bundles, _ := filepath.Glob(base + "/state/io.containerd.runtime.v2.task/k8s.io/*/bootstrap.json")
	for _, bundle := range bundles {
		var shim struct{ Address string }
		if data, err := os.ReadFile(bundle); err == nil && json.Unmarshal(data, &shim) == nil {
			sockets = append(sockets, strings.TrimPrefix(shim.Address, "unix://"))
		}
	}
	for _, socket := range sockets {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			_ = connection.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(socket)
		}
	}
}

const forwarding = "/proc/sys/net/ipv4/ip_forward"

// rememberForwarding notes the setting that the bridge plugin is going to change.
func rememberForwarding(base string) error {
	value, err := os.ReadFile(forwarding)
	if err != nil {
		return fmt.Errorf("read %s: %w", forwarding, err)
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return fmt.Errorf("make the node's folder: %w", err)
	}
	return os.WriteFile(filepath.Join(base, "ip_forward"), value, 0o600)
}

// restoreForwarding puts the setting back, unless another node still needs it.
func restoreForwarding(base string) {
	value, err := os.ReadFile(filepath.Join(base, "ip_forward"))
	if others, _ := filepath.Glob("/sys/class/net/lk-*"); err == nil && len(others) == 0 {
		_ = os.WriteFile(forwarding, value, 0o644)
	}
}
