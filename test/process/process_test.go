package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// long is more than any of these programs needs, also on a busy machine.
const long = time.Minute

func TestAProgramEndsWhenItIsStopped(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := Start(log, []string{"WORD=hello"}, "sh", "-c", `trap 'echo bye; exit 0' TERM; echo "$WORD"; while :; do sleep 0.05; done`)
	if err != nil {
		t.Fatal(err)
	}
	waitForLog(t, log, "hello")
	if err := p.Running(); err != nil {
		t.Errorf("it does not run: %v", err)
	}
	if err := p.Stop(long); err != nil {
		t.Errorf("it does not end well: %v", err)
	}
	waitForLog(t, log, "bye")
}

func TestAProgramThatEndsByItselfSaysWhy(t *testing.T) {
	p, err := Start(filepath.Join(t.TempDir(), "log"), nil, "sh", "-c", "echo out of luck; exit 3")
	if err != nil {
		t.Fatal(err)
	}
	<-p.ended
	for _, err := range []error{p.Running(), p.Stop(long)} {
		if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "out of luck") {
			t.Errorf("error = %v, want the status and the last words", err)
		}
	}
}

func TestAProgramThatDoesNotEndIsKilled(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := Start(log, nil, "sh", "-c", `trap '' TERM; echo deaf; while :; do sleep 0.05; done`)
	if err != nil {
		t.Fatal(err)
	}
	waitForLog(t, log, "deaf")
	if err := p.Stop(100 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("error = %v, want that it was killed", err)
	}
}

func TestABinaryThatIsNotBuiltIsNamed(t *testing.T) {
	if _, err := Binary("no-such-program"); err == nil || !strings.Contains(err.Error(), "bin/no-such-program is not built") {
		t.Errorf("error = %v", err)
	}
}

func waitForLog(t *testing.T, log, word string) {
	t.Helper()
	for deadline := time.Now().Add(long); time.Now().Before(deadline); {
		if text, _ := os.ReadFile(log); strings.Contains(string(text), word) {
			return
		}
		select {
		case <-t.Context().Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("%q is not in the log", word)
}
