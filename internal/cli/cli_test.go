package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
)

// result is what a command did.
type result struct {
	code     int
	out, err string
}

// run runs the plugin where no cluster is configured.
func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	return runWith(t, stdin, args...)
}

func runWith(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := Run(t.Context(), args, Options{In: strings.NewReader(stdin), Out: &out, Err: &err, Version: "1.2.3", Now: time.Now})
	return result{code, out.String(), err.String()}
}

func TestErrorsAreSentencesThatSayWhatToDo(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no cluster":            {[]string{"status"}, "no cluster is configured: set KUBECONFIG"},
		"a cluster that is off": {[]string{"status", "--server", "https://127.0.0.1:1"}, "the cluster at https://127.0.0.1:1 does not answer (connect: connection refused)"},
		"no name":               {[]string{"why"}, "name one AIModel or InferenceService: kubectl aimodel why NAME"},
		"an unknown command":    {[]string{"statsu"}, "Did you mean this?\n\tstatus"},
		"an unknown flag":       {[]string{"status", "--al"}, "unknown flag: --al: see `kubectl aimodel status --help`"},
		"an unknown format":     {[]string{"status", "-o", "xml"}, "--output must be one of table, wide, json, yaml"},
		"no file":               {[]string{"render"}, "name a file with -f"},
		"a file that is not":    {[]string{"render", "-f", "/nowhere.yaml"}, "/nowhere.yaml: no such file"},
		"name and file":         {[]string{"diff", "a", "-f", "b"}, "name one object, or files with -f"},
		"no number":             {[]string{"scale", "a"}, "--replicas N"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "", tc.args...)
			if got.code != exitError || !strings.HasPrefix(got.err, "error: ") || !strings.Contains(got.err, tc.want) {
				t.Errorf("exit code %d, %q; want %q", got.code, got.err, tc.want)
			}
			if got.out != "" {
				t.Errorf("standard output has %q", got.out)
			}
		})
	}
}

func TestRenderNeedsNoCluster(t *testing.T) {
	const text = "apiVersion: ai.example.com/v1\nkind: AIModel\nmetadata: {name: m}\nspec: {modelName: abc, modelVersion: '1', image: 'acme/server:1'}\n"
	got := run(t, text, "render", "-f", "-")
	if got.code != exitOK || !strings.Contains(got.out, "kind: Deployment") || !strings.Contains(got.out, "namespace: default") {
		t.Errorf("%+v", got)
	}
	if other := run(t, text, "render", "-f", "-", "-n", "team-a"); !strings.Contains(other.out, "namespace: team-a") {
		t.Errorf("%+v", other)
	}
	file := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if folder := run(t, "", "render", "-f", filepath.Dir(file)); folder.out != got.out {
		t.Errorf("from a folder it is %+v", folder)
	}
	if asJSON := run(t, text, "render", "-f", "-", "-o", "json"); !strings.Contains(asJSON.out, `"kind": "List"`) {
		t.Errorf("%+v", asJSON)
	}
}

func TestOneThatCannotBeRenderedKeepsNoOtherFromBeing(t *testing.T) {
	const text = "apiVersion: ai.example.com/v1\nkind: InferenceService\nmetadata: {name: s}\nspec: {modelRef: {name: nowhere}, runtime: {name: vllm}}\n---\n" +
		"apiVersion: ai.example.com/v1\nkind: AIModel\nmetadata: {name: m}\nspec: {modelName: abc, modelVersion: '1', image: 'acme/server:1'}\n"
	got := run(t, text, "render", "-f", "-")
	if got.code != exitError || !strings.Contains(got.out, "kind: Deployment") || !strings.Contains(got.err, `its AIModel "nowhere"`) {
		t.Errorf("%+v", got)
	}
}

func TestVersionOfThePluginAlone(t *testing.T) {
	if got := run(t, "", "version", "--client"); got.out != "plugin   1.2.3\n" {
		t.Errorf("%+v", got)
	}
}

func TestEveryCommandHelps(t *testing.T) {
	root := New(Options{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	for _, c := range root.Commands() {
		t.Run(c.Name(), func(t *testing.T) { checkHelp(t, c) })
	}
}

func checkHelp(t *testing.T, c *cobra.Command) {
	t.Helper()
	if c.Name() == "completion" || c.Name() == "help" {
		return
	}
	if c.Short == "" || strings.HasSuffix(c.Short, ".") || len(c.Short) > 110 {
		t.Errorf("the summary is %q", c.Short)
	}
	if !strings.Contains(c.Example, "kubectl aimodel "+c.Name()) {
		t.Errorf("the example is %q", c.Example)
	}
	if c.GroupID == "" {
		t.Error("it is in no group")
	}
	for line := range strings.Lines(c.Long) {
		if len(line) > 140 {
			t.Errorf("a line of the help has %d characters", len(line))
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := run(t, "", "completion", shell); got.code != exitOK || !strings.Contains(got.out, "kubectl-aimodel") {
			t.Errorf("%s: exit code %d, %s", shell, got.code, got.err)
		}
	}
	// Without a cluster there is nothing to complete, and nothing to complain about.
	if got := run(t, "", "__complete", "why", ""); got.code != exitOK || strings.Contains(got.out, "error") {
		t.Errorf("%+v", got)
	}
}

func TestFlagsOfKubectlAreUnderstood(t *testing.T) {
	for _, name := range []string{"as", "as-group", "certificate-authority", "cluster", "context", "kubeconfig", "namespace", "request-timeout",
		"server", "token", "user"} {
		if New(Options{Out: &bytes.Buffer{}}).PersistentFlags().Lookup(name) == nil {
			t.Errorf("there is no --%s", name)
		}
	}
}

func TestShortNamesCanBeTypedBack(t *testing.T) {
	for _, kind := range []string{"AIModel", "InferenceService"} {
		if short := access.Short(kind, "x"); !strings.HasSuffix(short, "/x") {
			t.Errorf("%s is %s", kind, short)
		}
	}
}
