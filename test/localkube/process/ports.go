package process

import (
	"fmt"
	"net"
)

// FreePorts finds n ports that nothing listens on. All are held until the last is found, so no two are the same; another
// program could still take one before its user does, which then fails and says so in its log.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = listener.Close() }() //nolint:gocritic // the ports are held until the last is found
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
