package realnode

import (
	"fmt"
	"net"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The bridge is made before any pod needs it because its address is the node's: the kubelet accepts no loopback address
// as such, and any other of the machine's would be open to the network.

// makeBridge makes a bridge with that address in a /24, and another one for nothing but itself, and takes it up.
func makeBridge(name string, address, other net.IP) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket: %w", err)
	}
	defer func() { _ = unix.Close(socket) }()
	if err := bridgeCall(socket, unix.SIOCBRADDBR, name); err != nil {
		return fmt.Errorf("make the bridge %s: %w", name, err)
	}
	if err := setAddress(socket, name, address, net.CIDRMask(24, 32)); err != nil {
		return err
	}
	// A second address needs a label of its own. There are no routes yet: the kernel first takes a network for its class.
	if err := setAddress(socket, name+":1", other, net.CIDRMask(32, 32)); err != nil {
		return err
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return fmt.Errorf("name the bridge: %w", err)
	}
	return setUp(socket, request, true)
}

func setAddress(socket int, label string, address net.IP, mask net.IPMask) error {
	for _, call := range []struct {
		number uint
		value  []byte
	}{{unix.SIOCSIFADDR, address.To4()}, {unix.SIOCSIFNETMASK, mask}} {
		request, err := unix.NewIfreq(label)
		if err == nil {
			err = request.SetInet4Addr(call.value)
		}
		if err == nil {
			err = unix.IoctlIfreq(socket, call.number, request)
		}
		if err != nil {
			return fmt.Errorf("give the bridge %s the address %s: %w", label, address, err)
		}
	}
	return nil
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
