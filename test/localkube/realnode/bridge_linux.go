package realnode

import (
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The bridge is made before any pod needs it because its address is the node's: the kubelet accepts no loopback address
// as such, and any other of the machine's would be open to the network.

// makeBridge makes a bridge with that address in a /24 and takes it up.
func makeBridge(name string, address net.IP) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()
	if err := bridgeCall(socket, unix.SIOCBRADDBR, name); err != nil {
		return fmt.Errorf("make the bridge %s: %w", name, err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return fmt.Errorf("name the bridge: %w", err)
	}
	if err := request.SetInet4Addr(address.To4()); err != nil {
		return fmt.Errorf("set the address of the bridge %s: %w", name, err)
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFADDR, request); err != nil {
		return fmt.Errorf("set the address of the bridge %s: %w", name, err)
	}
	if err := request.SetInet4Addr(net.IPv4(255, 255, 255, 0).To4()); err != nil {
		return fmt.Errorf("set the network of the bridge %s: %w", name, err)
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFNETMASK, request); err != nil {
		return fmt.Errorf("set the network of the bridge %s: %w", name, err)
	}
	return setUp(socket, request, true)
}

// removeBridge takes the bridge down and deletes it, if there is one. The pods' ends went with their network namespaces.
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
	if unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request) != nil {
		return nil
	}
	if err := setUp(socket, request, false); err != nil {
		return err
	}
	if err := bridgeCall(socket, unix.SIOCBRDELBR, name); err != nil {
		return fmt.Errorf("delete the bridge %s: %w", name, err)
	}
	return nil
}

func setUp(socket int, request *unix.Ifreq, up bool) error {
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, request); err != nil {
		return fmt.Errorf("look at the bridge %s: %w", request.Name(), err)
	}
	flags := request.Uint16() &^ unix.IFF_UP
	if up {
		flags |= unix.IFF_UP
	}
	request.SetUint16(flags)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("take the bridge %s up or down: %w", request.Name(), err)
	}
	return nil
}

// bridgeCall is an ioctl that takes a bridge's name.
func bridgeCall(socket int, call uintptr, name string) error {
	raw, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(socket), call, uintptr(unsafe.Pointer(raw))); errno != 0 {
		return errno
	}
	return nil
}
