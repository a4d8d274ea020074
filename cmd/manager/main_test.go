package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runManager runs the command and returns what it wrote, to out and to standard error.
func runManager(t *testing.T, args ...string) (out, errOut string, err error) {
	t.Helper()
	file, fileErr := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if fileErr != nil {
		t.Fatal(fileErr)
	}
	t.Cleanup(func() {
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	stderr := os.Stderr
	os.Stderr = file
	defer func() { os.Stderr = stderr }()
	var buffer bytes.Buffer
	err = run(args, &buffer)
	data, readErr := os.ReadFile(file.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	return buffer.String(), string(data), err
}

func TestRun(t *testing.T) {
	// What gets as far as looking for a cluster finds none.
	broken := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(broken, []byte("this is: [not a kubeconfig"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", broken)
	for name, tc := range map[string]struct {
		args    []string
		wantOut string
		wantErr string
	}{
		"the version":         {args: []string{"--version"}, wantOut: "development\n"},
		"help":                {args: []string{"--help"}, wantOut: "manager serves"},
		"help, in short":      {args: []string{"-h"}, wantOut: "manager serves"},
		"an unknown flag":     {args: []string{"--nonsense"}, wantErr: "flag provided but not defined: -nonsense"},
		"a bad number":        {args: []string{"--workers=many"}, wantErr: `invalid value "many" for flag -workers: parse error`},
		"an argument":         {args: []string{"serve"}, wantErr: `unexpected argument "serve"; see --help`},
		"a bad log format":    {args: []string{"--log-format=xml"}, wantErr: `--log-format must be json or text, not "xml"`},
		"a bad log level":     {args: []string{"--log-level=loud"}, wantErr: `--log-level: unrecognized level: "loud"`},
		"no cluster":          {args: nil, wantErr: "find the cluster: "},
		"no cluster, in text": {args: []string{"--log-format=text", "--log-level=debug"}, wantErr: "find the cluster: "},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := runManager(t, tc.args...)
			if !strings.HasPrefix(out, tc.wantOut) || (tc.wantOut == "" && out != "") {
				t.Errorf("output = %q, want %q", out, tc.wantOut)
			}
			if tc.wantErr == "" && err != nil {
				t.Errorf("error = %v", err)
			}
			if tc.wantErr != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.wantErr)) {
				t.Errorf("error = %v, want %q", err, tc.wantErr)
			}
		})
	}
}

func TestErrorsAreLoggedInALine(t *testing.T) {
	when := `20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}`
	for _, tc := range []struct {
		options logOptions
		want    string
		stack   bool
	}{
		{logOptions{"json", "info"}, `^{"level":"error","ts":"` + when + `[^"]+","msg":"It failed","error":"why"}\n$`, false},
		{logOptions{"text", "info"}, `^` + when + `\S+\tERROR\tIt failed\t{"error": "why"}\n$`, false},
		{logOptions{"json", "debug"}, `"error":"why","stacktrace":"`, true},
	} {
		var out bytes.Buffer
		logger, err := tc.options.logger(&out)
		if err != nil {
			t.Fatal(err)
		}
		logger.Error(errors.New("why"), "It failed")
		if !regexp.MustCompile(tc.want).Match(out.Bytes()) || strings.Contains(out.String(), "main_test.go") != tc.stack {
			t.Errorf("%+v: logged %q", tc.options, out.String())
		}
	}
}

func TestAProxyThatCannotBeUsedIsRefusedAndNotQuoted(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://user:hunter2%zz@proxy.example.com")
	_, _, err := runManager(t)
	if err == nil || !strings.HasPrefix(err.Error(), "HTTPS_PROXY is not the address of a proxy") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error = %v", err)
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	help, _, err := runManager(t, "--help")
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"metrics-bind-address", "metrics-secure", "metrics-cert-dir", "health-probe-bind-address", "leader-elect",
		"leader-elect-namespace", "leader-elect-lease-duration", "watch-namespaces", "workers", "kube-api-qps", "kube-api-burst", "shutdown-timeout",
		"log-format", "log-level", "version", "kubeconfig", "monitoring", "monitoring-labels", "monitoring-token-secret"} {
		if !strings.Contains(help, "  -"+flag) {
			t.Errorf("--help does not name --%s", flag)
		}
	}
	if !strings.Contains(help, "Usage: manager [flags]") {
		t.Errorf("--help says %q", help)
	}
}
