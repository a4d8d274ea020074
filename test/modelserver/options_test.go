package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, env map[string]string, args ...string) (options, error) {
	t.Helper()
	return parseOptions(args, func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}, &bytes.Buffer{})
}

func TestOptionsPrecedence(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		args []string
		want time.Duration
	}{
		{name: "default"},
		{name: "parameters", env: map[string]string{"MODEL_PARAMETERS": `{"loadDelay": "3s", "temperature": 0.7}`}, want: 3 * time.Second},
		{name: "variable over parameters", env: map[string]string{"MODEL_PARAMETERS": `{"loadDelay": "3s"}`, "LOAD_DELAY": "2s"}, want: 2 * time.Second},
		{name: "flag over variable", env: map[string]string{"LOAD_DELAY": "2s"}, args: []string{"--load-delay=1s"}, want: time.Second},
		{name: "an empty variable counts as unset", env: map[string]string{"LOAD_DELAY": ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts, err := parse(t, tt.env, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if opts.LoadDelay != tt.want {
				t.Errorf("got a load delay of %s, want %s", opts.LoadDelay, tt.want)
			}
		})
	}
}

func TestOptionsFromEnvironment(t *testing.T) {
	opts, err := parse(t, map[string]string{
		"PORT": "9000", "MODEL_NAME": "mood", "MODEL_VERSION": "on", "INFERENCE_PATH": "/{x}", "SERVED_BY": "pod-1",
		"MODEL_PARAMETERS": `{"allocateMib": 12, "exitAfter": "0s", "exitCode": 7, "failHealthAfter": "1m", "concurrency": 2,
			"port": 1, "path": "/other", "modelName": "other"}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := options{
		Port: 9000, ModelName: "mood", ModelVersion: "on", Path: "/{x}", ServedBy: "pod-1",
		Concurrency: 2, ShutdownTimeout: 30 * time.Second, AllocateMiB: 12, ExitCode: 7,
		ExitAfter: moment{set: true}, FailHealthAfter: moment{set: true, after: time.Minute},
	}
	if opts != want {
		t.Errorf("got  %+v\nwant %+v", opts, want)
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{name: "a variable that is no number", env: map[string]string{"PORT": "http"}, want: `PORT: invalid value "http"`},
		{name: "a key that is no duration", env: map[string]string{"MODEL_PARAMETERS": `{"loadDelay": 3}`},
			want: `loadDelay in MODEL_PARAMETERS: invalid value "3"`},
		{name: "parameters that are no object", env: map[string]string{"MODEL_PARAMETERS": "[]"}, want: "not a JSON object"},
		{name: "an unknown flag", args: []string{"--nope"}, want: "nope"},
		{name: "an argument", args: []string{"serve"}, want: `unexpected argument "serve"`},
		{name: "a relative path", args: []string{"--path=v1"}, want: "path must start with /"},
		{name: "a path that is taken", args: []string{"--path=/health"}, want: "/health is taken"},
		{name: "a negative moment", args: []string{"--exit-after=-1s"}, want: "must not be negative"},
		{name: "an exit code that no process has", args: []string{"--exit-code=256"}, want: "exit-code"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, tt.env, tt.args...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestHelpNamesEveryOption(t *testing.T) {
	var out bytes.Buffer
	_, err := parseOptions([]string{"--help"}, func(string) (string, bool) { return "", false }, &out)
	if !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("got %v, want flag.ErrHelp", err)
	}
	var opts options
	opts.flagSet().VisitAll(func(f *flag.Flag) {
		if !strings.Contains(out.String(), "-"+f.Name) {
			t.Errorf("the help does not name --%s", f.Name)
		}
	})
	if !strings.Contains(out.String(), "curl") {
		t.Error("the help has no example")
	}
}
