//go:build !linux

package process

import "syscall"

// Only the real node needs it, and only Linux has one.
func killWithThread(*syscall.SysProcAttr) {}
