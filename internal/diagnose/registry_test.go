package diagnose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// podReasons are the values of the constants in package api/v1 that stand in the block of the reasons of pods.
func podReasons(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1/conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || !strings.HasPrefix(block.Doc.Text(), "Reasons that pods") {
			continue
		}
		for _, spec := range block.Specs {
			literal, ok := spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit)
			if !ok {
				t.Fatalf("not a literal: %v", spec)
			}
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
	}
	return values
}

func TestEveryReasonHasOneEntryThatSaysWhatToDo(t *testing.T) {
	seen := map[string]bool{}
	for _, entry := range Entries() {
		if seen[entry.Reason] {
			t.Errorf("%s has two entries", entry.Reason)
		}
		seen[entry.Reason] = true
		for what, text := range map[string]string{"meaning": entry.Meaning, "advice": entry.Advice} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: its %s is no sentence: %q", entry.Reason, what, text)
			}
		}
		if found, ok := Lookup(entry.Reason); !ok || found.Meaning != entry.Meaning {
			t.Errorf("%s is not found by its name", entry.Reason)
		}
	}
	reasons := podReasons(t)
	if len(reasons) < 20 {
		t.Fatalf("only %d reasons of pods are declared: is the block still called that?", len(reasons))
	}
	for _, reason := range reasons {
		if !seen[reason] {
			t.Errorf("%s is declared, and not in the table", reason)
		}
	}
	if _, ok := Lookup("nonsense"); ok {
		t.Error("nonsense has an entry")
	}
}

func TestEveryReasonIsReproduced(t *testing.T) {
	messages := map[string]bool{}
	for _, tc := range podCases(t) {
		if tc.Want != nil {
			messages[tc.Want.Reason+": "+tc.Want.Message] = true
		}
	}
	for _, tc := range factsCases(t) {
		if tc.Want != nil {
			messages[tc.Want.Reason+": "+tc.Want.Message] = true
		}
		for _, finding := range tc.More {
			messages[finding.Reason+": "+finding.Message] = true
		}
	}
	for _, entry := range table {
		detectors := 0
		for _, has := range []bool{entry.container != nil, entry.pod != nil, entry.workload != nil} {
			if has {
				detectors++
			}
		}
		if detectors != 1 {
			t.Errorf("%s is recognised in %d ways", entry.Reason, detectors)
		}
		if !messages[entry.Reason+": "+entry.Example] {
			t.Errorf("no case has the example of %s: %s", entry.Reason, entry.Example)
		}
	}
	for _, entry := range steps {
		if entry.container != nil || entry.pod != nil || entry.workload != nil || entry.Example != "" {
			t.Errorf("%s is a step's reason, and is recognised", entry.Reason)
		}
	}
}

func TestExitCodes(t *testing.T) {
	for code, want := range map[int32]string{
		0: "", 1: "", 127: "the command was not found", 128: "", 137: "SIGKILL: it was killed from outside", 162: "signal 34", 255: "",
	} {
		if got := ExitCode(code); got != want {
			t.Errorf("exit code %d: %q, want %q", code, got, want)
		}
	}
}
