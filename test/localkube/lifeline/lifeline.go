// Package lifeline ties the life of a child process to its parent's. The parent keeps the write end of a pipe open and
// the child holds the read end: however the parent ends, even by SIGKILL, the kernel closes the write end and the child
// sees the end of file. Unlike Linux's parent-death signal this works everywhere and names no thread.
package lifeline

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
)

// env names the file descriptor of the read end in a child.
const env = "LOCALKUBE_LIFELINE_FD"

// Line is the parent's side. The zero value is not usable; see New.
type Line struct {
	read, write *os.File
}

// New opens a lifeline. Keep it reachable for as long as the children shall live.
func New() (*Line, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open the lifeline: %w", err)
	}
	return &Line{read: read, write: write}, nil
}

// Attach makes cmd, which must not be started yet, a child that Watch or Gone can tell about this process's end.
func (l *Line) Attach(cmd *exec.Cmd) {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, l.read)
	cmd.Env = append(cmd.Env, env+"="+strconv.Itoa(2+len(cmd.ExtraFiles)))
}

// Close cuts the line: every attached child ends.
func (l *Line) Close() {
	_ = l.write.Close()
	_ = l.read.Close()
}

// Gone returns a channel that is closed when the parent is gone, or nil when this process has no lifeline. It also hides
// the lifeline from this process's own children.
func Gone() <-chan struct{} {
	fd, err := strconv.Atoi(os.Getenv(env))
	if err != nil {
		return nil
	}
	_ = os.Unsetenv(env)
	file := os.NewFile(uintptr(fd), "lifeline")
	closeOnExec(fd)
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, file)
		close(gone)
	}()
	return gone
}

// Watch ends this process at once when its parent is gone. It does nothing without a lifeline.
func Watch() {
	if gone := Gone(); gone != nil {
		go func() {
			<-gone
			os.Exit(1)
		}()
	}
}
