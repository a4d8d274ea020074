package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

// options is how this process serves and how it misbehaves.
type options struct {
	Port         int
	Path         string
	ModelName    string
	ModelVersion string
	ServedBy     string

	Concurrency     int
	RequestDelay    time.Duration
	ShutdownTimeout time.Duration

	LoadDelay       time.Duration
	FailHealthAfter moment
	AllocateMiB     int
	ExitAfter       moment
	ExitCode        int
}

// moment is a point in time, counted from the start of something; unset, it never comes.
type moment struct {
	set   bool
	after time.Duration
}

func (m *moment) String() string {
	if !m.set {
		return "never"
	}
	return m.after.String()
}

// Set is part of flag.Value.
func (m *moment) Set(text string) error {
	if text == "never" {
		*m = moment{}
		return nil
	}
	after, err := time.ParseDuration(text)
	if err == nil && after < 0 {
		err = errors.New("must not be negative")
	}
	if err != nil {
		return err
	}
	*m = moment{set: true, after: after}
	return nil
}

const helpHead = `modelserver answers whether a text is positive, negative or neutral.

  curl -d '{"text": "I love it"}' 127.0.0.1:8080/v1/inference/sentiment
  curl -d 'plain text works too'  127.0.0.1:8080/v1/inference/sentiment
  curl '127.0.0.1:8080/v1/inference/sentiment?text=and+so+does+GET'

Also served: /v1/models, /health (503 until the model is loaded, then 200) and /metrics.

Every option is a flag, an environment variable (--load-delay is LOAD_DELAY) or a key of the JSON object in
MODEL_PARAMETERS (loadDelay). The flag wins over the variable, the variable over the key.

Options:
`

// parameterless names the options that MODEL_PARAMETERS does not set: there, such keys mean the model and not the server.
var parameterless = map[string]bool{"port": true, "path": true, "model-name": true, "model-version": true}

// environmentNames has the variables that are not called like their flag.
var environmentNames = map[string]string{"path": "INFERENCE_PATH"}

// parseOptions reads flags, then what they leave open from the environment, then from MODEL_PARAMETERS. It prints the
// help to out and returns flag.ErrHelp when asked for it.
func parseOptions(args []string, getenv func(string) (string, bool), out io.Writer) (options, error) {
	var opts options
	flags := opts.flagSet()
	flags.SetOutput(io.Discard)
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			_, _ = io.WriteString(out, helpHead)
			flags.SetOutput(out)
			flags.PrintDefaults()
		}
		return opts, err
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := fillFromEnvironment(flags, getenv); err != nil {
		return opts, err
	}
	// The host name of a container is the name of its pod.
	if opts.ServedBy == "" {
		opts.ServedBy, _ = os.Hostname()
	}
	return opts, opts.validate()
}

func (o *options) flagSet() *flag.FlagSet {
	flags := flag.NewFlagSet("modelserver", flag.ContinueOnError)
	flags.IntVar(&o.Port, "port", 8080, "listen on this `port`")
	flags.StringVar(&o.Path, "path", "/v1/inference/sentiment", "answer on this `path` (variable INFERENCE_PATH)")
	flags.StringVar(&o.ModelName, "model-name", "vader-sentiment", "`name` of the model, as answers and /v1/models tell it")
	flags.StringVar(&o.ModelVersion, "model-version", "1", "`version` of the model")
	flags.StringVar(&o.ServedBy, "served-by", "", "`name` of this server in answers (default: the host name)")
	flags.IntVar(&o.Concurrency, "concurrency", 0, "answer at most `N` requests at once, the others wait (0: no limit)")
	flags.DurationVar(&o.RequestDelay, "request-delay", 0, "take this much longer for every answer")
	flags.DurationVar(&o.ShutdownTimeout, "shutdown-timeout", 30*time.Second,
		"after SIGTERM, let requests in flight finish for at most this long")
	flags.DurationVar(&o.LoadDelay, "load-delay", 0, "take this much longer to load the model")
	flags.Var(&o.FailHealthAfter, "fail-health-after", "answer /health with 503 again, this `duration` after loading")
	flags.IntVar(&o.AllocateMiB, "allocate-mib", 0, "fill `N` MiB of memory while loading, and keep them")
	flags.Var(&o.ExitAfter, "exit-after", "crash this `duration` after the start")
	flags.IntVar(&o.ExitCode, "exit-code", 1, "exit with this `code` when --exit-after strikes")
	return flags
}

// fillFromEnvironment sets every flag that was not given.
func fillFromEnvironment(flags *flag.FlagSet, getenv func(string) (string, bool)) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })

	parameters := map[string]json.RawMessage{}
	if text, ok := getenv("MODEL_PARAMETERS"); ok && text != "" {
		if err := json.Unmarshal([]byte(text), &parameters); err != nil {
			return fmt.Errorf("MODEL_PARAMETERS is not a JSON object: %w", err)
		}
	}
	var errs []error
	flags.VisitAll(func(f *flag.Flag) {
		if given[f.Name] {
			return
		}
		origin := environmentName(f.Name)
		text, ok := getenv(origin)
		if !ok || text == "" {
			origin = parameterName(f.Name)
			raw, found := parameters[origin]
			if !found || parameterless[f.Name] {
				return
			}
			text = strings.Trim(string(raw), `"`)
			origin += " in MODEL_PARAMETERS"
		}
		if err := f.Value.Set(text); err != nil {
			errs = append(errs, fmt.Errorf("%s: invalid value %q: %w", origin, text, err))
		}
	})
	return errors.Join(errs...)
}

// environmentName turns load-delay into LOAD_DELAY.
func environmentName(flagName string) string {
	if name, ok := environmentNames[flagName]; ok {
		return name
	}
	return strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

var afterDash = regexp.MustCompile(`-.`)

// parameterName turns load-delay into loadDelay.
func parameterName(flagName string) string {
	return afterDash.ReplaceAllStringFunc(flagName, func(s string) string { return strings.ToUpper(s[1:]) })
}

func (o *options) validate() error {
	var errs []error
	check := func(ok bool, message string) {
		if !ok {
			errs = append(errs, errors.New(message))
		}
	}
	check(o.Port >= 0 && o.Port <= 65535, "port must be 0 to 65535")
	check(strings.HasPrefix(o.Path, "/"), "path must start with /")
	check(!fixedPaths[o.Path], "path "+o.Path+" is taken")
	check(o.Concurrency >= 0, "concurrency must not be negative")
	check(o.AllocateMiB >= 0, "allocate-mib must not be negative")
	check(o.ExitCode >= 0 && o.ExitCode <= 255, "exit-code must be 0 to 255")
	check(o.RequestDelay >= 0 && o.LoadDelay >= 0 && o.ShutdownTimeout >= 0, "durations must not be negative")
	return errors.Join(errs...)
}
