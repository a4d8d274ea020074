package bundle

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestTheSuitesOfTheBundle lists them as `operator-sdk scorecard` finds them. Every test of cmd/scorecard is among those of our
// own, with the image of this version. They need a running operator: test/olm runs them, as processes.
func TestTheSuitesOfTheBundle(t *testing.T) {
	help := exec.CommandContext(t.Context(), "go", "run", "./cmd/scorecard", "--help")
	help.Dir = root(t)
	text, err := help.Output()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), ".\n")
	_, names, _ := strings.Cut(first, ": ")
	own := strings.Split(names, ", ")

	for suite, want := range map[string][]string{
		"basic": {"basic-check-spec"},
		"olm": {"olm-bundle-validation", "olm-crds-have-resources", "olm-crds-have-validation", "olm-spec-descriptors",
			"olm-status-descriptors"},
		"custom": own,
	} {
		t.Run(suite, func(t *testing.T) {
			out, err := tool(t, "operator-sdk", "scorecard", "bundle", "--list", "--selector=suite="+suite, "-o", "json")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var list struct {
				Items []struct {
					Spec struct {
						Image      string
						Entrypoint []string
					}
				}
			}
			if err := json.Unmarshal([]byte(out), &list); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, item := range list.Items {
				got = append(got, item.Spec.Entrypoint[1])
				if suite == "custom" && !strings.Contains(item.Spec.Image, "-scorecard") {
					t.Errorf("the image of %s is %s", item.Spec.Entrypoint, item.Spec.Image)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("the suite has %v, want %v", got, want)
			}
		})
	}
}
