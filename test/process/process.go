// Package process runs the programs that tests need beside them. Each ends with the test process, however that ends. It must
// know nothing of what the programs do.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// lifeline runs a command that ends when standard input does, and so with the test process, however that ends.
const lifeline = `exec 3<&0
"$@" </dev/null 3<&- & pid=$!
{ cat <&3; kill "$pid"; } >/dev/null 2>&1 &
wait "$pid"`

// logEnd is how much of a log an error tells.
const logEnd = 4 << 10

// Process is a running program.
type Process struct {
	name, log string
	cmd       *exec.Cmd
	stdin     io.Closer
	ended     chan struct{}
	err       error
}

// Start runs a program. What it prints is added to the file log; env is added to the environment of the test.
func Start(log string, env []string, program string, args ...string) (*Process, error) {
	p := &Process{name: filepath.Base(program), log: log, ended: make(chan struct{})}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	defer file.Close() //nolint:errcheck // the process has its own handle
	p.cmd = exec.Command("sh", append([]string{"-c", lifeline, "sh", program}, args...)...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	// Ctrl-C is for the tests, which then stop the program.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Running is nil while the program runs. After that it says how it ended, and what it said last.
func (p *Process) Running() error {
	select {
	case <-p.ended:
		if p.err == nil {
			return fmt.Errorf("%s ended with status 0:\n%s", p.name, p.tail())
		}
		return fmt.Errorf("%s ended with %w:\n%s", p.name, p.err, p.tail())
	default:
		return nil
	}
}

// Stop asks the program to end, and kills it if it takes longer than patience. It returns an error unless the program ended
// with status 0, as one does that was asked to, or had ended before.
func (p *Process) Stop(patience time.Duration) error {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.ended
		return fmt.Errorf("%s did not end within %s and was killed:\n%s", p.name, patience, p.tail())
	}
	if p.err != nil {
		return fmt.Errorf("%s ended with %w:\n%s", p.name, p.err, p.tail())
	}
	return nil
}

func (p *Process) tail() []byte {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	if len(text) > logEnd {
		text = text[len(text)-logEnd:]
	}
	return bytes.TrimSpace(text)
}

// FreeAddress is an address of this machine that nothing listens on at the moment.
func FreeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return address, nil
}

// Binary is the path of a program that make built into bin/ of the repository.
func Binary(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find bin/%s: %w", name, err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "test", "localkube", "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find the repository: no folder above this one holds test/localkube")
		}
	}
	path := filepath.Join(dir, "bin", name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("bin/%s is not built", name)
	}
	return path, nil
}
