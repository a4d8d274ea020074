package scale

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/test/cluster"
	"github.com/aimodel-operator/aimodel-operator/test/process"
)

const (
	longest  = 10 * time.Minute
	interval = 200 * time.Millisecond
	// quiet is how long the operator has to ask nothing before it counts as settled.
	quiet = 5 * time.Second
)

// operator is a running bin/manager.
type operator struct {
	cmd *exec.Cmd
	// probe and profiles are where it answers probes and serves profiles.
	probe, profiles string
	log             *bytes.Buffer
}

func startOperator(ctx context.Context, t *testing.T, c *cluster.Cluster) *operator {
	t.Helper()
	binary := filepath.Join(root(t), "bin", "manager")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%s is not built: run `make build` first", binary)
	}
	probe, err := process.FreeAddress(ctx)
	must(t, err)
	profiles, err := process.FreeAddress(ctx)
	must(t, err)
	op := &operator{probe: "http://" + probe, profiles: "http://" + profiles, log: &bytes.Buffer{}}
	op.cmd = exec.Command(binary, "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address="+probe,
		"--pprof-bind-address="+profiles)
	op.cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	op.cmd.Stderr = op.log
	must(t, op.cmd.Start())
	t.Cleanup(func() { op.stop(t) })
	op.waitWorking(ctx, t)
	return op
}

func (o *operator) waitWorking(ctx context.Context, t *testing.T) {
	t.Helper()
	waitFor(ctx, t, "the operator to be ready", func() bool {
		response, err := http.Get(o.probe + "/readyz")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}

func (o *operator) stop(t *testing.T) {
	t.Helper()
	if o.cmd.ProcessState != nil {
		return
	}
	must(t, o.cmd.Process.Signal(syscall.SIGTERM))
	if err := o.cmd.Wait(); err != nil {
		t.Errorf("the operator ended with %v:\n%s", err, o.log)
	}
}

// memory returns the resident memory of the operator in MB, now and at its highest.
func (o *operator) memory(t *testing.T) (now, peak int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.cmd.Process.Pid))
	if err != nil {
		t.Logf("memory is not measured here: %v", err)
		return 0, 0
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kilobytes, _ := strconv.Atoi(fields[1])
		switch fields[0] {
		case "VmRSS:":
			now = kilobytes / 1024
		case "VmHWM:":
			peak = kilobytes / 1024
		}
	}
	return now, peak
}

// saveHeap writes a profile of what the operator keeps in memory.
func (o *operator) saveHeap(t *testing.T, file string) {
	t.Helper()
	response, err := http.Get(o.profiles + "/debug/pprof/heap?gc=1")
	must(t, err)
	profile, err := io.ReadAll(response.Body)
	must(t, errors.Join(err, response.Body.Close()))
	if response.StatusCode != http.StatusOK {
		t.Fatalf("no profile of the heap: %s: %s", response.Status, profile)
	}
	must(t, os.WriteFile(file, profile, 0o600))
}

// requests counts the operator's requests by verb and resource.
type requests map[string]int

var writeVerbs = map[string]bool{"create": true, "update": true, "patch": true, "delete": true}

func readAudit(t *testing.T, path string) requests {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer func() { _ = file.Close() }()
	counted := requests{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !bytes.Contains(lines.Bytes(), []byte(`"userAgent":"`+aiv1.ManagedBy)) {
			continue
		}
		var event struct {
			Verb      string
			ObjectRef struct{ Resource, Subresource string }
		}
		// The last line may be half written.
		if json.Unmarshal(lines.Bytes(), &event) == nil {
			counted[strings.TrimSuffix(event.Verb+" "+event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource, "/")]++
		}
	}
	must(t, lines.Err())
	return counted
}

func (r requests) minus(earlier requests) requests {
	difference := requests{}
	for key, count := range r {
		if more := count - earlier[key]; more > 0 {
			difference[key] = more
		}
	}
	return difference
}

func (r requests) all() int {
	total := 0
	for _, count := range r {
		total += count
	}
	return total
}

func (r requests) writes() int {
	total := 0
	for key, count := range r {
		if verb, _, _ := strings.Cut(key, " "); writeVerbs[verb] {
			total += count
		}
	}
	return total
}

func (r requests) String() string {
	var lines []string
	for key, count := range r {
		lines = append(lines, fmt.Sprintf("%d %s", count, key))
	}
	sort.Strings(lines)
	return strings.Join(lines, ", ")
}

// settle waits until the operator asks nothing of the API server any more.
func settle(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	t.Helper()
	last, since := -1, time.Now()
	waitFor(ctx, t, "the operator to come to rest", func() bool {
		if now := readAudit(t, c.AuditLog).all(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > quiet
	})
}

func waitFor(ctx context.Context, t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(longest)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s for %s", longest, what)
		}
		pause(ctx, interval)
	}
}

func pause(ctx context.Context, duration time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(duration):
	}
}

func root(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../..")
	must(t, err)
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func envInt(t *testing.T, name string, fallback int) int {
	t.Helper()
	if os.Getenv(name) == "" {
		return fallback
	}
	value, err := strconv.Atoi(os.Getenv(name))
	must(t, err)
	return value
}

func envDuration(t *testing.T, name string, fallback time.Duration) time.Duration {
	t.Helper()
	if os.Getenv(name) == "" {
		return fallback
	}
	value, err := time.ParseDuration(os.Getenv(name))
	must(t, err)
	return value
}
