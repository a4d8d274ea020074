package realnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Clean removes whatever a node of that ID has left on the machine: processes, mounts, cgroups, the bridge and files. It
// needs none of the node's programs and does nothing when there is nothing.
func Clean(id string) error {
	base := Base(id)
	killDaemons(base)
	problems := []error{removeCgroups(cgroupRoot(id)), unmountBelow(base), removeBridge(bridge(id))}
	removeLogLinks(base)
	results, _ := filepath.Glob("/var/lib/cni/results/" + bridge(id) + "-*")
	for _, result := range results {
		_ = os.Remove(result)
	}
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

// removeBridge takes the bridge down and deletes it. The pods' ends went with their network namespaces.
func removeBridge(name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq(name)
	if err != nil {
		return fmt.Errorf("name the bridge: %w", err)
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err != nil {
		return nil // there is none
	}
	request.SetUint16(request.Uint16() &^ unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("take the bridge %s down: %w", name, err)
	}
	raw, err := unix.BytePtrFromString(name)
	if err != nil {
		return fmt.Errorf("name the bridge: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), unix.SIOCBRDELBR, uintptr(unsafe.Pointer(raw))); errno != 0 {
		return fmt.Errorf("delete the bridge %s: %w", name, errno)
	}
	return nil
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
