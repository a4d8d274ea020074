// Package monitoring checks the dashboard and the alerts with Prometheus' own parser and with promtool, and holds that they name
// no metric that there is not.
package monitoring

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

const (
	rulesFile     = "../../config/prometheus/aimodel-operator.rules.yaml"
	dashboardFile = "../../config/grafana/aimodel-operator.json"
	metricsPage   = "../../docs/metrics.md"
	runbooks      = "../../docs/runbooks"
)

// ofLibraries are the prefixes of metrics that libraries of the operator have.
var ofLibraries = []string{"controller_runtime_", "workqueue_", "rest_client_", "leader_election_", "go_", "process_"}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// metrics gives the labels of every metric of the page, by its name. Those of a histogram are there under its three names.
func metrics(t *testing.T) map[string][]string {
	t.Helper()
	known := map[string][]string{}
	section := regexp.MustCompile(`(?ms)^### (aimodel_operator_\w+)$(.*?)(?:\z|^##)`) //nolint:gocritic // with (?m), ^ begins a line
	label := regexp.MustCompile("(?m)^\\| `(\\w+)` \\|")
	page := strings.ReplaceAll(string(read(t, metricsPage)), "\n### ", "\n##\n### ")
	for _, found := range section.FindAllStringSubmatch(page, -1) {
		labels := []string{"job", "pod"}
		for _, l := range label.FindAllStringSubmatch(found[2], -1) {
			labels = append(labels, l[1])
		}
		if strings.Contains(found[2], "Type: histogram.") {
			known[found[1]+"_bucket"] = append(slices.Clone(labels), "le")
			known[found[1]+"_sum"], known[found[1]+"_count"] = labels, labels
			continue
		}
		known[found[1]] = labels
	}
	if len(known) < 15 {
		t.Fatalf("the page has only %d metrics", len(known))
	}
	return known
}

// check parses an expression and holds that there is what it names. It gives the names of the metrics.
func check(t *testing.T, known map[string][]string, where, expression string) []string {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Errorf("%s: %v in %s", where, err, expression)
		return nil
	}
	var names []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		names = append(names, selector.Name)
		labels, ours := known[selector.Name]
		if !ours && !slices.ContainsFunc(ofLibraries, func(prefix string) bool { return strings.HasPrefix(selector.Name, prefix) }) {
			t.Errorf("%s: there is no metric %s", where, selector.Name)
		}
		for _, matcher := range selector.LabelMatchers {
			if ours && matcher.Name != "__name__" && !slices.Contains(labels, matcher.Name) {
				t.Errorf("%s: %s has no label %s", where, selector.Name, matcher.Name)
			}
		}
		return nil
	})
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		aggregate, ok := node.(*parser.AggregateExpr)
		if !ok {
			return nil
		}
		for _, name := range names {
			for _, label := range aggregate.Grouping {
				if labels, ours := known[name]; ours && !slices.Contains(labels, label) {
					t.Errorf("%s: %s cannot be grouped by %s", where, name, label)
				}
			}
		}
		return nil
	})
	return names
}

func TestCheckFindsWhatIsWrong(t *testing.T) {
	known := metrics(t)
	for name, expression := range map[string]string{
		"no expression":          "sum(",
		"no metric of ours":      "aimodel_operator_nonsense",
		"a metric of a stranger": "kube_pod_info",
		"no label of it":         `aimodel_operator_resources{phase="x"}`,
		"no label to group by":   "sum by (namespace) (aimodel_operator_resources)",
		"a histogram's own name": "aimodel_operator_step_duration_seconds",
	} {
		inner := &testing.T{}
		check(inner, known, name, expression)
		if !inner.Failed() {
			t.Errorf("%s: nothing is found in %s", name, expression)
		}
	}
}

type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource struct{ Type, UID string }
	GridPos    struct{ H, W, X, Y int }
	Targets    []struct {
		Expr       string
		Datasource struct{ Type, UID string }
	}
}

func TestDashboard(t *testing.T) {
	var dashboard struct {
		Title, UID    string
		SchemaVersion int
		Panels        []panel
		Templating    struct{ List []struct{ Name, Type string } }
	}
	if err := json.Unmarshal(read(t, dashboardFile), &dashboard); err != nil {
		t.Fatal(err)
	}
	if dashboard.Title == "" || dashboard.UID == "" || dashboard.SchemaVersion == 0 || len(dashboard.Panels) < 20 {
		t.Errorf("%q (%s, version %d) has %d panels", dashboard.Title, dashboard.UID, dashboard.SchemaVersion, len(dashboard.Panels))
	}
	variables := map[string]string{}
	for _, v := range dashboard.Templating.List {
		variables["$"+v.Name] = v.Type
	}
	if variables["$datasource"] != "datasource" {
		t.Errorf("there is no variable for the data source: %v", variables)
	}
	known, shown, ids := metrics(t), map[string]bool{}, map[int]bool{}
	variable := regexp.MustCompile(`\$\w+`)
	for i, p := range dashboard.Panels {
		if ids[p.ID] || p.Title == "" {
			t.Errorf("panel %q: its id is %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		if p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %q is too wide", p.Title)
		}
		for _, q := range dashboard.Panels[:i] {
			if p.GridPos.X < q.GridPos.X+q.GridPos.W && q.GridPos.X < p.GridPos.X+p.GridPos.W &&
				p.GridPos.Y < q.GridPos.Y+q.GridPos.H && q.GridPos.Y < p.GridPos.Y+p.GridPos.H {
				t.Errorf("the panels %q and %q overlap", p.Title, q.Title)
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("panel %q: data source %q, %d targets", p.Title, p.Datasource.UID, len(p.Targets))
		}
		for _, target := range p.Targets {
			if target.Datasource.UID != "${datasource}" {
				t.Errorf("panel %q: a target asks %q", p.Title, target.Datasource.UID)
			}
			expression := strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")
			for _, name := range variable.FindAllString(expression, -1) {
				if variables[name] == "" {
					t.Errorf("panel %q: there is no variable %s", p.Title, name)
				}
			}
			for _, name := range check(t, known, p.Title, expression) {
				shown[name] = true
			}
		}
	}
	for name := range known {
		if base := strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count"); !shown[name] && !shown[base+"_bucket"] {
			t.Errorf("%s is on no panel", name)
		}
	}
}

type group struct {
	Name  string
	Rules []struct {
		Alert, Expr         string
		Labels, Annotations map[string]string
	}
}

func TestAlerts(t *testing.T) {
	known := metrics(t)
	index := string(read(t, filepath.Join(runbooks, "README.md")))
	pages := map[string]bool{"README.md": true}
	tests := unitTests(t)
	var file struct{ Groups []group }
	if err := yaml.Unmarshal(read(t, rulesFile), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, rule := range g.Rules {
			check(t, known, rule.Alert, rule.Expr)
			if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
				t.Errorf("%s: severity %q", rule.Alert, severity)
			}
			page := rule.Alert + ".md"
			pages[page] = true
			if !strings.HasSuffix(rule.Annotations["runbook_url"], "/docs/runbooks/"+page) {
				t.Errorf("%s: its runbook is %q", rule.Alert, rule.Annotations["runbook_url"])
			}
			if text := string(read(t, filepath.Join(runbooks, page))); !strings.HasPrefix(text, "# "+rule.Alert+"\n\nSeverity: "+rule.Labels["severity"]+".") {
				t.Errorf("%s begins with another title or severity", page)
			}
			if !strings.Contains(index, "["+rule.Alert+"]("+page+") | "+rule.Labels["severity"]) {
				t.Errorf("the list of runbooks lacks %s", rule.Alert)
			}
			if seen := tests[rule.Alert]; !seen.fires || !seen.quiet {
				t.Errorf("%s needs a test that it fires and one that it does not: %+v", rule.Alert, seen)
			}
		}
	}
	entries, err := os.ReadDir(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !pages[entry.Name()] {
			t.Errorf("docs/runbooks/%s is of no alert", entry.Name())
		}
	}
}

type seen struct{ fires, quiet bool }

// unitTests says which alerts the file of tests expects to fire, and which not to.
func unitTests(t *testing.T) map[string]seen {
	t.Helper()
	var file struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(read(t, "alerts_test.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]seen{}
	for _, test := range file.Tests {
		for _, alert := range test.AlertRuleTest {
			now := all[alert.Alertname]
			now.fires = now.fires || len(alert.ExpAlerts) > 0
			now.quiet = now.quiet || len(alert.ExpAlerts) == 0
			all[alert.Alertname] = now
		}
	}
	return all
}

func TestPrometheusRuleHasTheSameGroups(t *testing.T) {
	var plain struct{ Groups []any }
	var rule struct {
		Kind string
		Spec struct{ Groups []any }
	}
	if err := yaml.Unmarshal(read(t, rulesFile), &plain); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(read(t, "../../config/prometheus/prometheusrule.yaml"), &rule); err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(plain.Groups)
	got, _ := json.Marshal(rule.Spec.Groups)
	if rule.Kind != "PrometheusRule" || !bytes.Equal(got, want) {
		t.Errorf("a %s of %s, want %s", rule.Kind, got, want)
	}
}

// TestPromtool runs what an administrator would run. The first time builds promtool, which takes some minutes.
func TestPromtool(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "promtool")
	// Without the discovery of services in clouds, for which promtool has half its dependencies.
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "remove_all_sd", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w",
		"-o", tool, "github.com/prometheus/prometheus/cmd/promtool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build promtool: %v\n%s", err, out)
	}
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", rulesFile}, {"test", "rules", "alerts_test.yaml"}} {
		if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	rules := strings.Replace(string(read(t, "alerts_test.yaml")), "../../config/prometheus/aimodel-operator.rules.yaml", absolute(t, rulesFile), 1)
	if err := os.WriteFile(wrong, []byte(strings.ReplaceAll(rules, "eval_time: 11m", "eval_time: 5m")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := exec.CommandContext(t.Context(), tool, "test", "rules", wrong).Run(); err == nil {
		t.Error("promtool finds nothing wrong with a test that expects an alert too early")
	}
}

func absolute(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
