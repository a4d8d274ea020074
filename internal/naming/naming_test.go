package naming

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

var legalNames = []string{
	"a", "llama", "llama-3-8b", "7b", "1e3", "123", "true", "null", "a.b", "a-b", "v1.0.llama", "1.2.3",
	"x-server", "server", "llama-server-server", "a-0123456789", "a-0123456789-server", "m-1", "m-7b",
	strings.Repeat("a", 53), strings.Repeat("a", 55), strings.Repeat("a", 56), strings.Repeat("a", 57),
	strings.Repeat("a", 62), strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253),
	strings.Repeat("1", 63), strings.Repeat("1", 253), strings.Repeat("a.", 126) + "a", strings.Repeat("ab-", 84) + "c",
	strings.Repeat("a", 52) + "-server", strings.Repeat("a", 56) + "-server", strings.Repeat("a", 57) + "-server",
	strings.Repeat("a", 51) + "-b", strings.Repeat("a", 52) + "-b", strings.Repeat("a", 44) + "-------b",
}

// checkNames holds the names made of one legal name to what Kubernetes demands.
func checkNames(t *testing.T, name string) {
	t.Helper()
	for what, child := range map[string]string{"AIModel": AIModelChild(name), "InferenceService": InferenceServiceChild(name)} {
		// A Service's name is the strictest of all children's, and a label carries it too.
		if problems := validation.IsDNS1035Label(child); len(problems) > 0 {
			t.Errorf("child %q of %s %q: %v", child, what, name, problems)
		}
		if problems := validation.IsValidLabelValue(child); len(problems) > 0 {
			t.Errorf("child %q of %s %q: %v", child, what, name, problems)
		}
	}
	if problems := validation.IsValidLabelValue(LabelValue(name)); len(problems) > 0 {
		t.Errorf("label %q of %q: %v", LabelValue(name), name, problems)
	}
	if AIModelChild(name) == InferenceServiceChild(name) {
		t.Errorf("both kinds called %q have the child %q", name, AIModelChild(name))
	}
}

func TestNamesAreValid(t *testing.T) {
	for _, name := range legalNames {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			t.Fatalf("%q is not a legal name: %v", name, problems)
		}
		checkNames(t, name)
	}
}

func TestNamesAreUnique(t *testing.T) {
	names := map[string]bool{}
	for _, name := range legalNames {
		names[name] = true
	}
	// What one kind makes of a name may be the name of an object of the other kind, or of the same.
	for _, name := range legalNames {
		for _, child := range []string{AIModelChild(name), InferenceServiceChild(name), LabelValue(name)} {
			names[child] = true
			names[strings.TrimSuffix(child, serviceSuffix)] = true
		}
	}
	children := map[string]string{}
	labels := map[string]string{}
	for name := range names {
		for child, owner := range map[string]string{
			AIModelChild(name):          "AIModel " + name,
			InferenceServiceChild(name): "InferenceService " + name,
		} {
			if other, taken := children[child]; taken {
				t.Errorf("%s and %s have the child %q", owner, other, child)
			}
			children[child] = owner
		}
		if other, taken := labels[LabelValue(name)]; taken {
			t.Errorf("%q and %q have the label %q", name, other, LabelValue(name))
		}
		labels[LabelValue(name)] = name
	}
}

func TestPlainNamesStayReadable(t *testing.T) {
	for name, want := range map[string][2]string{
		"llama":                 {"llama", "llama-server"},
		strings.Repeat("a", 56): {strings.Repeat("a", 56), strings.Repeat("a", 56) + "-server"},
		"my-sentiment-model":    {"my-sentiment-model", "my-sentiment-model-server"},
	} {
		if got := AIModelChild(name); got != want[0] {
			t.Errorf("child of AIModel %q is %q, want %q", name, got, want[0])
		}
		if got := InferenceServiceChild(name); got != want[1] {
			t.Errorf("child of InferenceService %q is %q, want %q", name, got, want[1])
		}
	}
	for name, prefix := range map[string]string{"a.b": "a-b-", "7b": "m-7b-", "x-server": "x-server-", "1.2": "m-1-2-"} {
		if got := AIModelChild(name); !strings.HasPrefix(got, prefix) || len(got) != len(prefix)+hashLen {
			t.Errorf("child of AIModel %q is %q, want %s and a hash", name, got, prefix)
		}
	}
}

func TestLabelsSayTheNameWhereverTheyCan(t *testing.T) {
	for name, want := range map[string]string{
		"llama":                 "llama",
		"7b":                    "7b",
		"a.b":                   "a.b",
		strings.Repeat("a", 63): strings.Repeat("a", 63),
		"a-0123456789":          "a-0123456789-",
		strings.Repeat("a", 64): strings.Repeat("a", 52) + "-",
	} {
		if got := LabelValue(name); !strings.HasPrefix(got, want) || (strings.HasSuffix(want, "-") != (got != name)) {
			t.Errorf("label of %q is %q, want %q", name, got, want)
		}
	}
}

func TestNamesStayTheSame(t *testing.T) {
	// A changed name would replace every running server at an upgrade.
	for got, want := range map[string]string{
		AIModelChild("7b"):                               "m-7b-925a7bf1cc",
		InferenceServiceChild("7b"):                      "m-7b-925a7bf1cc-server",
		AIModelChild(strings.Repeat("a.", 100) + "z"):    "a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-a-c95f95d046",
		LabelValue(strings.Repeat("long-", 20) + "name"): "long-long-long-long-long-long-long-long-long-long-lo-8f24b2dceb",
		LabelValue("a-0123456789"):                       "a-0123456789-14599cfd54",
	} {
		if got != want {
			t.Errorf("name is %q, was %q", got, want)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range legalNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Skip()
		}
		checkNames(t, name)
		other := fmt.Sprintf("%s0", name[:min(len(name), 252)])
		if name == other {
			return
		}
		if AIModelChild(name) == AIModelChild(other) || InferenceServiceChild(name) == InferenceServiceChild(other) {
			t.Errorf("%q and %q share a child", name, other)
		}
		if LabelValue(name) == LabelValue(other) {
			t.Errorf("%q and %q share a label", name, other)
		}
	})
}
