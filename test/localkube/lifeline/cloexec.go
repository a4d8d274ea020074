package lifeline

import "golang.org/x/sys/unix"

// closeOnExec keeps the descriptor out of grandchildren, which have a lifeline of their own.
func closeOnExec(fd int) { unix.CloseOnExec(fd) }
