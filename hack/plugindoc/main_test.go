package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/cli"
)

func TestEveryCommandIsDescribed(t *testing.T) {
	text := reference()
	for _, c := range cli.New(cli.Options{Out: os.Stdout, Err: os.Stderr}).Commands() {
		if !strings.Contains(text, "### aimodel "+c.Name()+"\n") {
			t.Errorf("%s is missing", c.Name())
		}
	}
	if strings.Contains(text, os.Getenv("HOME")+"/") {
		t.Error("a path of this machine is in the page")
	}
}

func TestOnlyWhatIsBetweenTheMarksIsWritten(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+begin+"\nOUTDATED\n"+end+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(page); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	if !strings.HasPrefix(got, "before\n") || !strings.HasSuffix(got, "after\n") || strings.Contains(got, "OUTDATED") || !strings.Contains(got, "### aimodel why") {
		t.Errorf("got %s", got)
	}
	if err := os.WriteFile(page, []byte("no marks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(page); err == nil {
		t.Error("a page without marks was written")
	}
}
