// Package registries tests the backends of internal/registry against real registries; see packages conformance and servers.
package registries
