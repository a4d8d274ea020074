package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		events []string
		status int
		want   counts
		has    []string
		hasNot []string
	}{
		{
			name: "a table counts its cases and not itself",
			events: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"run","Package":"p","Test":"TestA/one"}`,
				`{"Action":"run","Package":"p","Test":"TestA/two"}`,
				`{"Action":"pass","Package":"p","Test":"TestA/one"}`,
				`{"Action":"pass","Package":"p","Test":"TestA/two"}`,
				`{"Action":"pass","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p","Elapsed":1.5}`,
			},
			want:   counts{Passed: 2},
			has:    []string{"ok", "2 passed, 0 failed"},
			hasNot: []string{"TestA"},
		},
		{
			name: "a failed case is counted once and shown with its output",
			events: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"run","Package":"p","Test":"TestA/one"}`,
				`{"Action":"output","Package":"p","Test":"TestA/one","Output":"=== RUN   TestA/one\n"}`,
				`{"Action":"output","Package":"p","Test":"TestA/one","Output":"    a_test.go:3: wrong\n"}`,
				`{"Action":"fail","Package":"p","Test":"TestA/one"}`,
				`{"Action":"fail","Package":"p","Test":"TestA"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			status: 1,
			want:   counts{Failed: 1},
			has:    []string{"a_test.go:3: wrong", "Failed:\n    p TestA/one"},
			hasNot: []string{"=== RUN"},
		},
		{
			name: "a test that fails beside its subtests counts too",
			events: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"run","Package":"p","Test":"TestA/one"}`,
				`{"Action":"pass","Package":"p","Test":"TestA/one"}`,
				`{"Action":"fail","Package":"p","Test":"TestA"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			status: 1,
			want:   counts{Passed: 1, Failed: 1},
		},
		{
			name: "a skipped test says why",
			events: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:3: needs a node\n"}`,
				`{"Action":"skip","Package":"p","Test":"TestA"}`,
				`{"Action":"pass","Package":"p"}`,
			},
			want: counts{Skipped: 1},
			has:  []string{"skip", "needs a node", "0 passed, 0 failed, 1 skipped"},
		},
		{
			name: "a package that does not compile is one failure, with the words of the compiler",
			events: []string{
				`{"ImportPath":"p [p.test]","Action":"build-output","Output":"./a.go:1:2: undefined: x\n"}`,
				`{"ImportPath":"p [p.test]","Action":"build-fail"}`,
				`{"Action":"start","Package":"p"}`,
				`{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			},
			status: 1,
			want:   counts{Failed: 1},
			has:    []string{"undefined: x"},
		},
		{
			name: "a package that does not compile is explained once, whoever needs it",
			events: []string{
				`{"ImportPath":"p","Action":"build-output","Output":"./a.go:1:2: undefined: x\\n"}`,
				`{"ImportPath":"p","Action":"build-fail"}`,
				`{"Action":"fail","Package":"p","FailedBuild":"p"}`,
				`{"Action":"fail","Package":"q","FailedBuild":"p"}`,
			},
			status: 1,
			want:   counts{Failed: 2},
			has:    []string{"undefined: x", "p does not compile; see above"},
		},
		{
			name: "a test cut short by a panic or the time limit has failed",
			events: []string{
				`{"Action":"run","Package":"p","Test":"TestA"}`,
				`{"Action":"output","Package":"p","Test":"TestA","Output":"panic: test timed out after 1s\n"}`,
				`{"Action":"fail","Package":"p"}`,
			},
			status: 1,
			want:   counts{Failed: 1},
			has:    []string{"TestA did not end", "timed out"},
		},
		{
			name:   "a command that fails without any test has failed",
			events: []string{"no required module provides package q\n"},
			status: 1,
			want:   counts{Failed: 1},
			has:    []string{"no required module", "status 1"},
		},
		{
			name:   "a package without tests is not worth a line",
			events: []string{`{"Action":"start","Package":"p"}`, `{"Action":"skip","Package":"p"}`},
			hasNot: []string{"p"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			r := newReport(&out, false)
			readLines(strings.NewReader(strings.Join(tt.events, "\n")), r.line)
			if got := r.finish(tt.status); got != tt.want {
				t.Errorf("counts = %+v, want %+v", got, tt.want)
			}
			for _, text := range tt.has {
				if !strings.Contains(out.String(), text) {
					t.Errorf("output lacks %q:\n%s", text, out.String())
				}
			}
			for _, text := range tt.hasNot {
				if strings.Contains(out.String(), text) {
					t.Errorf("output has %q:\n%s", text, out.String())
				}
			}
		})
	}
}

func TestReportOfEachTest(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out, true)
	for _, line := range []string{
		`{"Action":"run","Package":"p","Test":"TestSuite"}`,
		`{"Action":"run","Package":"p","Test":"TestSuite/it_serves"}`,
		`{"Action":"output","Package":"p","Test":"TestSuite/it_serves","Output":"    a_test.go:3: took 2.5s\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestSuite/it_serves"}`,
		`{"Action":"pass","Package":"p","Test":"TestSuite","Elapsed":3}`,
		`{"Action":"run","Package":"p","Test":"TestPlain"}`,
		`{"Action":"pass","Package":"p","Test":"TestPlain","Elapsed":1.25}`,
	} {
		r.line([]byte(line))
	}
	want := "  pass  TestSuite/it serves (2.5s)\n  pass  TestPlain (1.2 s)\n"
	if out.String() != want {
		t.Errorf("output = %q, want %q", out.String(), want)
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for file, c := range map[string]counts{one: {Passed: 3}, two: {Passed: 1, Failed: 2, Skipped: 4}} {
		if err := appendRecord(file, c); err != nil {
			t.Fatal(err)
		}
	}
	if err := appendRecord(two, counts{Passed: 5}); err != nil {
		t.Fatal(err)
	}
	sum, err := readRecords([]string{one, two, filepath.Join(dir, "missing")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sum.String(), "9 passed, 2 failed, 4 skipped"; got != want {
		t.Errorf("sum = %q, want %q", got, want)
	}
}
