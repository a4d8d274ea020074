package render

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// sameAsFullReader holds the plain reader's result to that of the full one.
func sameAsFullReader(t *testing.T, text, plain []byte) {
	t.Helper()
	full, err := yaml.YAMLToJSON(escapeUnprintable(text))
	if err != nil {
		t.Fatalf("the full reader refuses %q: %v; the plain one made %s", text, err, plain)
	}
	var want, got any
	if err := json.Unmarshal(full, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plain, &got); err != nil {
		t.Fatalf("%q became %s: %v", text, plain, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q differs (-full +plain):\n%s", text, diff)
	}
}

func TestTemplatesArePlain(t *testing.T) {
	loaded := mustLoad(t)
	r, err := newRenderer(loaded)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range valuesCases(t) {
		for file, text := range ownRender(t, r, "team-a", "a-release", values) {
			document := bytes.TrimSpace([]byte(text))
			if len(document) == 0 {
				continue
			}
			plain, err := plainToJSON(document)
			if err != nil {
				// It would still be read, but slowly.
				t.Errorf("%s: %s is not plain:\n%s", name, file, document)
				continue
			}
			sameAsFullReader(t, document, plain)
		}
	}
}

var plainTexts = []string{
	"a: b", "a:", "a:\n  b: 1\n  c:\n    - x\n    - w: 1\n      z: 2\n  d:\n  - 1\n  - 2\ne: {f: g, h: [1, true, null, \"x\"]}",
	"a: {\"b\":1,\"c\":{\"d\":[]}}", "# c\na: b\n\n  \nb: c", "a: 25%",
	"a: /x/y", "a: \"\\u0041\\n\"", "\"a\": 1", "\"on\": \"on\"",
	"a: []\nb: {}", "a: { }", "- a\n- b: c\n  d: e", "a:\n- b\n- c\nd: e", "a.b/c: d.e/f-g_h", "a: \"\u0085\u2028\x7f\"",
}

var notPlainTexts = []string{
	"", "# c", "a", "a:b", "a: yes", "a: On", "y: 1", "a: 1.5", "a: 1e3",
	"a: 012", "a: 0x1", "a: 1_000", "a: ~", "a: 'b'", "a: |\n  x", "a: >\n  x",
	"a: b # c", "a: b c", "a: &x b", "a: *x", "a: !!str b", "a: \"x\" y",
	"a: \"x", "a: \"\\x41\"", "a: \"\\ud83d\\ude00\"", "a: {b}", "a: {b:c}",
	"a: [1,]", "a: [,]", "a: [1", "a: {b: 1}}", "a: b\n c: d", "  a: b\nc: d",
	"a: b\n---\nc: d", "---\na: b", "a: {\n b: c}", "a: 2026-01-01",
	"-a: b", "- - a", "-", "a: -", "a: 99999999999999999999", "<<: {a: b}",
	"a:\tb", "a: b\t", "? a", "a: 1:30", "a: .5", "a: .inf", "a: =",
	"a: +1", "a: -0", "a: -1", "\ta: b", "a: \"\x80\"",
}

func TestPlainReader(t *testing.T) {
	for _, text := range plainTexts {
		plain, err := plainToJSON([]byte(text))
		if err != nil {
			t.Errorf("%q is refused", text)
			continue
		}
		sameAsFullReader(t, []byte(text), plain)
	}
	for _, text := range notPlainTexts {
		if plain, err := plainToJSON([]byte(text)); err == nil {
			t.Errorf("%q became %s", text, plain)
		}
	}
}

func FuzzPlainReader(f *testing.F) {
	for _, text := range plainTexts {
		f.Add(text)
	}
	for _, text := range notPlainTexts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if plain, err := plainToJSON([]byte(text)); err == nil {
			sameAsFullReader(t, []byte(text), plain)
		}
	})
}
