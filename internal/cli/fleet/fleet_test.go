package fleet

import (
	"bytes"
	"flag"
	"testing"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/clitest"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// now is when the objects of the test data are looked at.
var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestFleetGolden(t *testing.T) {
	reader := clitest.Client(t, clitest.Objects(t, "testdata/fleet.input.yaml")...)
	for name, tc := range map[string]struct {
		namespace string
		view      View
	}{
		"all":       {view: View{Namespaces: true}},
		"wide":      {namespace: "team-a", view: View{Wide: true}},
		"namespace": {namespace: "team-b"},
		"empty":     {namespace: "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			fleet, err := Gather(t.Context(), reader, tc.namespace)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := Write(&out, output.Style{}, now, fleet, tc.view); err != nil {
				t.Fatal(err)
			}
			clitest.Golden(t, "testdata/"+name+".txt", out.Bytes(), *update)
		})
	}
}

func TestFleetAsJSONGolden(t *testing.T) {
	fleet, err := Gather(t.Context(), clitest.Client(t, clitest.Objects(t, "testdata/fleet.input.yaml")...), "team-a")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := output.Print(&out, output.JSON, fleet); err != nil {
		t.Fatal(err)
	}
	clitest.Golden(t, "testdata/team-a.json", out.Bytes(), *update)
}
