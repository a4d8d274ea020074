package main

import (
	"os"
	"strings"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
)

func TestEveryMetricIsOnThePage(t *testing.T) {
	committed, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(committed) != page(metrics.Descriptions()) {
		t.Error("docs/metrics.md is out of date: run `make generate`")
	}
	for _, metric := range metrics.Descriptions() {
		for _, want := range append([]string{"### " + metric.Name + "\n", metric.Help, "Type: " + metric.Type}, labelNames(metric)...) {
			if !strings.Contains(string(committed), want) {
				t.Errorf("%s: the page lacks %q", metric.Name, want)
			}
		}
	}
}

func labelNames(metric metrics.Description) []string {
	var names []string
	for _, label := range metric.Labels {
		names = append(names, "| `"+label.Name+"` |")
	}
	return names
}

func TestValues(t *testing.T) {
	many := make([]string, manyValues+2)
	for name, tc := range map[string]struct {
		label metrics.Label
		want  string
	}{
		"a list":      {metrics.Label{Values: []string{"a", "b"}}, "`a`, `b`"},
		"a bound":     {metrics.Label{Bound: "few"}, "few"},
		"a long list": {metrics.Label{Values: many}, "the 21 of [conditions and reasons](api-reference.md#conditions-and-reasons), and `other`"},
	} {
		if got := values(tc.label); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
