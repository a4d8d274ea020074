package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// silence is how long nothing may be printed before the report says what it is waiting for.
const silence = 60 * time.Second

// event is a line of `go test -json`; see `go doc test2json` and `go help buildjson`.
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// report collects events and prints them for a person. Its methods may be called from several goroutines.
type report struct {
	mu      sync.Mutex
	out     io.Writer
	verbose bool
	counts  counts

	packages map[string]*testPackage
	builds   map[string][]string // the output of builds, by import path
	failures []string            // what failed, in order, for the end
	lastLine time.Time
}

// testPackage is a package of which tests run.
type testPackage struct {
	counts  counts
	output  []string             // what the package prints outside any test
	tests   map[string]*testCase // tests that have not been counted yet
	running map[string]time.Time
}

type testCase struct {
	output     []string
	children   int
	failedKids int
}

func newReport(out io.Writer, verbose bool) *report {
	return &report{
		out: out, verbose: verbose,
		packages: map[string]*testPackage{}, builds: map[string][]string{}, lastLine: time.Now(),
	}
}

// line takes one line of output of the command.
func (r *report) line(raw []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()

	var e event
	if err := json.Unmarshal(raw, &e); err != nil || e.Action == "" {
		r.print(string(raw))
		return
	}
	switch {
	case e.Action == "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
	case e.Package == "" || e.Action == "build-fail":
		return
	case e.Test != "":
		r.test(e)
	default:
		r.pkg(e)
	}
}

func (r *report) of(name string) *testPackage {
	p, ok := r.packages[name]
	if !ok {
		p = &testPackage{tests: map[string]*testCase{}, running: map[string]time.Time{}}
		r.packages[name] = p
	}
	return p
}

func (p *testPackage) of(name string) *testCase {
	t, ok := p.tests[name]
	if !ok {
		t = &testCase{}
		p.tests[name] = t
		if parent, ok := parentOf(name); ok {
			p.of(parent).children++
		}
	}
	return t
}

// test takes an event of one test. Only tests without subtests are counted, so that a table of twenty cases is twenty
// tests and not twenty-one; a test that fails beside its subtests counts too.
func (r *report) test(e event) {
	p := r.of(e.Package)
	t := p.of(e.Test)
	switch e.Action {
	case "run":
		p.running[e.Test] = time.Now()
	case "output":
		if !isNoise(e.Output) {
			t.output = append(t.output, e.Output)
		}
	case "pass", "skip", "fail":
		delete(p.running, e.Test)
		delete(p.tests, e.Test)
		r.ended(e, p, t)
	}
}

func (r *report) ended(e event, p *testPackage, t *testCase) {
	leaf := t.children == 0
	if e.Action == "pass" && leaf {
		p.counts.Passed++
	}
	if e.Action == "skip" && leaf {
		p.counts.Skipped++
		r.print(fmt.Sprintf("  skip  %s %s: %s\n", short(e.Package), readable(e.Test), reason(t.output)))
	}
	if e.Action == "fail" {
		if t.failedKids == 0 {
			p.counts.Failed++
			r.failures = append(r.failures, short(e.Package)+" "+e.Test)
		}
		if parent, ok := parentOf(e.Test); ok {
			p.of(parent).failedKids++
		}
		if t.failedKids == 0 || len(t.output) > 0 {
			r.print(fmt.Sprintf("\n  FAIL  %s %s (%.1f s)\n%s\n", short(e.Package), e.Test, e.Elapsed, indent(t.output)))
		}
	}
	if r.verbose && e.Action == "pass" && leaf {
		r.print(fmt.Sprintf("  pass  %s (%s)\n", readable(e.Test), duration(e, t)))
	}
}

// pkg takes an event of a package as a whole.
func (r *report) pkg(e event) {
	p := r.of(e.Package)
	switch e.Action {
	case "output":
		p.output = append(p.output, e.Output)
	case "pass", "skip", "fail":
		r.packageEnded(e, p)
		delete(r.packages, e.Package)
	}
}

func (r *report) packageEnded(e event, p *testPackage) {
	if e.Action == "fail" {
		r.packageFailed(e, p)
	}
	r.counts = r.counts.plus(p.counts)
	if p.counts == (counts{}) {
		return // no test in it
	}
	word := "ok    "
	if e.Action == "fail" {
		word = "FAIL  "
	}
	r.print(fmt.Sprintf("  %s%-60s %5.1f s  %s\n", word, short(e.Package), e.Elapsed, p.counts))
}

// packageFailed explains a package that failed: one that does not compile, that was killed by its time limit or a panic,
// or whose TestMain failed. Such a failure belongs to no test, so it is counted as one.
func (r *report) packageFailed(e event, p *testPackage) {
	if e.FailedBuild != "" {
		p.output = r.buildOutput(e.FailedBuild)
	}
	for _, name := range slices.Sorted(maps.Keys(p.tests)) {
		if t := p.tests[name]; t.children == 0 {
			p.counts.Failed++
			r.failures = append(r.failures, short(e.Package)+" "+name+" (did not end)")
			r.print(fmt.Sprintf("\n  FAIL  %s %s did not end\n%s\n", short(e.Package), name, indent(t.output)))
		}
	}
	if p.counts.Failed == 0 {
		p.counts.Failed++
		r.failures = append(r.failures, short(e.Package))
		r.print(fmt.Sprintf("\n  FAIL  %s\n%s\n", short(e.Package), indent(p.output)))
	}
}

// buildOutput gives what the compiler said, the first time that it is asked for: many packages may need the one that does
// not compile.
func (r *report) buildOutput(importPath string) []string {
	output, ok := r.builds[importPath]
	if !ok {
		return []string{importPath + " does not compile; see above\n"}
	}
	delete(r.builds, importPath)
	return output
}

// finish prints what failed once more, in short, and gives the counts. A command that failed without a failed test, such
// as one that could not load its packages, counts as one failure.
func (r *report) finish(status int) counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	if status != 0 && r.counts.Failed == 0 {
		r.counts.Failed = 1
		r.failures = append(r.failures, fmt.Sprintf("go test ended with status %d", status))
		for _, output := range r.builds {
			r.print(indent(output))
		}
	}
	if len(r.failures) > 0 {
		r.print("\n  Failed:\n")
		for _, name := range r.failures {
			r.print("    " + name + "\n")
		}
	}
	return r.counts
}

// watch says now and then what is still running, until the function that it gives is called.
func (r *report) watch() (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(silence / 4)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				r.stillRunning()
			}
		}
	}()
	return func() { close(done) }
}

func (r *report) stillRunning() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.lastLine) < silence {
		return
	}
	for _, pkg := range slices.Sorted(maps.Keys(r.packages)) {
		for _, test := range slices.Sorted(maps.Keys(r.packages[pkg].running)) {
			if r.packages[pkg].tests[test].children == 0 {
				since := time.Since(r.packages[pkg].running[test]).Round(time.Second)
				r.print(fmt.Sprintf("  ...   %s %s runs for %s\n", short(pkg), test, since))
			}
		}
	}
	if time.Since(r.lastLine) >= silence {
		r.print("  ...   compiling\n")
	}
}

func (r *report) print(text string) {
	r.lastLine = time.Now()
	_, _ = io.WriteString(r.out, text)
}

// isNoise is true for the lines by which go test marks where tests begin and end.
func isNoise(output string) bool {
	text := strings.TrimLeft(output, " ")
	for _, prefix := range []string{"=== RUN", "=== PAUSE", "=== CONT", "=== NAME", "--- PASS", "--- FAIL", "--- SKIP"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// reason is what a skipped test says, on one line.
func reason(output []string) string {
	return strings.Join(strings.Fields(strings.Join(output, " ")), " ")
}

// readable is the name of a test as it was written: go test puts underscores in the place of spaces.
func readable(test string) string { return strings.ReplaceAll(test, "_", " ") }

// duration is how long a test took: as it says itself, where it only reports what ran elsewhere, or as go test measured it.
func duration(e event, t *testCase) string {
	if _, took, ok := strings.Cut(reason(t.output), ": took "); ok {
		return took
	}
	return fmt.Sprintf("%.1f s", e.Elapsed)
}

func indent(output []string) string {
	text := strings.TrimRight(strings.Join(output, ""), "\n")
	if text == "" {
		return ""
	}
	return "        " + strings.ReplaceAll(text, "\n", "\n        ") + "\n"
}

// short leaves out the host and the organisation of a package.
func short(pkg string) string {
	return strings.TrimPrefix(pkg, "github.com/aimodel-operator/aimodel-operator/")
}

// parentOf names the test that a subtest belongs to.
func parentOf(name string) (parent string, ok bool) {
	i := strings.LastIndex(name, "/")
	if i < 0 {
		return "", false
	}
	return name[:i], true
}
