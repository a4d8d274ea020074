package main

import (
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

func TestThePageHasAnEntryForEachReason(t *testing.T) {
	entries := diagnose.Entries()
	text := page(entries)
	if got := strings.Count(text, "\n## "); got != len(entries) {
		t.Errorf("%d entries for %d reasons", got, len(entries))
	}
	for _, entry := range entries {
		_, own, found := strings.Cut(text, "\n## "+entry.Reason+"\n")
		own, _, _ = strings.Cut(own, "\n## ")
		if !found || !strings.Contains(own, entry.Meaning) || !strings.Contains(own, entry.Advice) || !strings.Contains(own, entry.Example) {
			t.Errorf("%s: its entry is not whole:\n%s", entry.Reason, own)
		}
		if !strings.Contains(text, "](#"+strings.ToLower(entry.Reason)+")") {
			t.Errorf("%s: nothing leads to it", entry.Reason)
		}
	}
}
