package fleet

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
)

// View says which columns are shown.
type View struct {
	// Namespaces shows the namespace of each model.
	Namespaces bool
	// Wide shows runtime and message too.
	Wide bool
}

// Write shows the models as a table, with the totals below.
func Write(out io.Writer, style output.Style, now time.Time, fleet *Fleet, view View) error {
	rows := [][]output.Cell{header(view)}
	for i := range fleet.Models {
		rows = append(rows, row(&fleet.Models[i], style, now, view))
	}
	if err := output.WriteTable(out, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%s\n", fleet.Totals)
	return err
}

func header(view View) []output.Cell {
	words := []string{"NAME", "MODEL", "READY", "REASON", "AVAILABLE", "GPUS", "URL", "AGE"}
	if view.Namespaces {
		words = append([]string{"NAMESPACE"}, words...)
	}
	if view.Wide {
		words = append(words, "RUNTIME", "MESSAGE")
	}
	return output.Plain(words...)
}

func row(m *Model, style output.Style, now time.Time, view View) []output.Cell {
	paint := style.Bad
	switch {
	case m.Ready == "True":
		paint = style.Good
	case m.Ready == "Unknown", m.Reason == "RollingOut", m.Reason == "Scaling":
		paint = style.Waiting
	}
	reason := cmp.Or(m.Reason, "-")
	if m.Paused && reason != "Paused" {
		reason += " (paused)"
	}
	cells := output.Plain(access.Short(m.Kind, m.Name), cmp.Or(m.Model, "-"))
	cells = append(cells, output.Cell{Text: m.Ready, Paint: paint}, output.Cell{Text: reason, Paint: paint})
	available := "-"
	if m.Runs {
		available = fmt.Sprintf("%d/%d", m.Available, m.Wanted)
	}
	gpus := output.Cell{Text: "-"}
	if m.GPUs.Resource != "" {
		gpus.Text = fmt.Sprintf("%d/%d", m.GPUs.Got, m.GPUs.Asked)
		if m.GPUs.Got < m.GPUs.Asked {
			gpus.Paint = style.Waiting
		}
	}
	cells = append(cells, output.Cell{Text: available}, gpus)
	cells = append(cells, output.Plain(cmp.Or(m.URL, "-"), output.Age(now, m.Created))...)
	if view.Namespaces {
		cells = append(output.Plain(m.Namespace), cells...)
	}
	if view.Wide {
		cells = append(cells, output.Plain(cmp.Or(m.Runtime, "-"), output.OneLine(m.Message))...)
	}
	return cells
}

// String says the totals in a sentence.
func (t Totals) String() string {
	text := fmt.Sprintf("%d of %d models ready, %d of %d replicas available", t.Ready, t.Models, t.Available, t.Wanted)
	gpus := make([]string, 0, len(t.GPUs))
	for _, g := range t.GPUs {
		gpus = append(gpus, fmt.Sprintf("%d of %d %s", g.Got, g.Asked, g.Resource))
	}
	if len(gpus) > 0 {
		text += "; accelerators got of those asked for: " + strings.Join(gpus, ", ")
	}
	return text
}
