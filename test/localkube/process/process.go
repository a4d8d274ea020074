// Package process runs the programs of a cluster: it starts them so that they cannot outlive their parent, waits for them
// and explains their failures with the end of their log.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/lifeline"
)

// tailLines is how much of a log explains a failure: enough for a panic's first frames, little enough to read.
const tailLines = 20

// pollInterval is the time between two checks, and tryTimeout bounds each.
const (
	pollInterval = 50 * time.Millisecond
	tryTimeout   = 2 * time.Second
)

// Process is one started program.
type Process struct {
	Name string
	// Log is the file that its output goes to.
	Log string

	cmd    *exec.Cmd
	exited chan struct{}
}

// Spec says what to run.
type Spec struct {
	// Name is what the program is called by, which is how the multi-call binary chooses; its log is LogDir/Name.log.
	Name, Binary, LogDir string
	Args                 []string
	// Env is added to this process's environment.
	Env []string
	// KilledWithThread is for programs that know nothing of lifelines. On Linux the kernel kills such a process when the thread
	// that started it ends, so the caller must be locked to a thread that lives as long as this process.
	KilledWithThread bool
}

// Start runs a program. It ends with this one, whatever ends this one, and gets a process group of its own: a Ctrl-C in
// the terminal reaches only the supervisor, which then stops things in order.
func Start(line *lifeline.Line, spec Spec) (*Process, error) {
	path := filepath.Join(spec.LogDir, spec.Name+".log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(spec.Binary)
	cmd.Args = append([]string{spec.Name}, spec.Args...)
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if spec.KilledWithThread {
		killWithThread(cmd.SysProcAttr)
	} else {
		line.Attach(cmd)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	p := &Process{Name: spec.Name, Log: path, cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Running says whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Stop ends the process, by SIGTERM and after the grace by SIGKILL, and returns when it is gone.
func (p *Process) Stop(grace time.Duration) {
	if grace > 0 && p.Running() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(grace):
		}
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Await polls until check succeeds. It gives up, with the end of the process's log, when the process ends or ctx does. A nil
// Process stands for one that somebody else started.
func (p *Process) Await(ctx context.Context, what string, check func(context.Context) error) error {
	var exited <-chan struct{}
	if p != nil {
		exited = p.exited
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := try(ctx, check)
		if err == nil {
			return nil
		}
		select {
		case <-exited:
			return p.Explain(fmt.Errorf("ended before %s", what))
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("interrupted while waiting until %s", what)
			}
			return p.Explain(fmt.Errorf("gave up waiting until %s: %w", what, err))
		case <-ticker.C:
		}
	}
}

// try bounds one check: a call to a program that is just starting may hang.
func try(ctx context.Context, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	return check(ctx)
}

// Explain adds the end of the process's log to an error about it.
func (p *Process) Explain(err error) error {
	if p == nil {
		return err
	}
	state := "still running"
	if !p.Running() {
		state = p.cmd.ProcessState.String()
	}
	return fmt.Errorf("%s (%s): %w\n--- end of %s ---\n%s---", p.Name, state, err, p.Log, Tail(p.Log, tailLines))
}

// Tail returns the last lines of a file, as much of them as its last 64 KiB hold.
func Tail(path string, lines int) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error() + "\n"
	}
	defer func() { _ = file.Close() }()
	const window = 64 << 10
	if info, err := file.Stat(); err == nil && info.Size() > window {
		_, _ = file.Seek(-window, io.SeekEnd)
	}
	data, _ := io.ReadAll(file)
	all := strings.Split(string(bytes.TrimRight(data, "\n")), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n") + "\n"
}
