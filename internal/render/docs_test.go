package render

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const (
	docsPage   = "../../docs/charts-and-values.md"
	tableBegin = "<!-- Begin of the table of values, written by: go test ./internal/render -run TestDocs -update -->\n"
	tableEnd   = "<!-- End of the table of values. -->\n"
)

func TestDocsListEveryValue(t *testing.T) {
	page, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has lost the marks of its table", docsPage)
	}
	want := before + tableBegin + "\n" + valuesTable(t) + "\n" + tableEnd + after
	if want == string(page) {
		return
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(docsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s does not list the values of today: run the test with -update", docsPage)
}

// valuesTable lists every value with its default and its comment.
func valuesTable(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(chartDir + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.WriteString("| value | default | what it is |\n| --- | --- | --- |\n")
	addRows(t, &out, "", document.Content[0])
	return out.String()
}

func addRows(t *testing.T, out *strings.Builder, at string, values *yaml.Node) {
	t.Helper()
	for i, key := range keysOf(values) {
		value := values.Content[2*i+1]
		standard := ""
		nested := value.Kind == yaml.MappingNode && len(value.Content) > 0
		if !nested {
			var decoded any
			if err := value.Decode(&decoded); err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(decoded)
			if err != nil {
				t.Fatal(err)
			}
			standard = "`" + string(text) + "`"
		}
		comment := strings.ReplaceAll(strings.ReplaceAll(key.HeadComment, "\n# ", " "), "# ", "")
		fmt.Fprintf(out, "| `%s%s` | %s | %s |\n", at, key.Value, standard, strings.ReplaceAll(comment, "|", `\|`))
		if nested {
			addRows(t, out, at+key.Value+".", value)
		}
	}
}
