package why

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
)

// Write tells the story to a person.
func Write(out io.Writer, style output.Style, now time.Time, story *Story) error {
	var text strings.Builder
	verdict := "is not ready"
	paint := style.Bad
	switch {
	case story.Ready == "True":
		verdict, paint = "is ready", style.Good
	case story.Tree.Health == Waiting:
		verdict, paint = "is not ready yet", style.Waiting
	case story.Ready == "Unknown":
		verdict, paint = "may or may not be ready", style.Waiting
	}
	fmt.Fprintf(&text, "%s %s: %s", style.Bold(story.Kind+" "+story.Namespace+"/"+story.Name), verdict, paint(story.Reason))
	if !story.Since.IsZero() {
		fmt.Fprintf(&text, ", for %s", output.Age(now, story.Since))
	}
	text.WriteByte('\n')
	if story.Message != "" {
		fmt.Fprintf(&text, "  %s\n", output.OneLine(story.Message))
	}
	text.WriteByte('\n')
	d := drawing{text: &text, style: style, width: width(story.Tree, 0) + 2}
	d.part(story.Tree, "", "")
	if story.Advice != "" {
		fmt.Fprintf(&text, "\n%s %s\n%s %s\n", style.Bold("What it means:"), story.Meaning, style.Bold("What to do:"), story.Advice)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

type drawing struct {
	text  *strings.Builder
	style output.Style
	// width is how wide the names are, with their branches.
	width int
}

// part draws a part behind first, and what belongs to it behind rest.
func (d *drawing) part(p *Part, first, rest string) {
	title := p.Kind + "/" + p.Name
	gap := strings.Repeat(" ", max(1, d.width-utf8.RuneCountInString(first+title)))
	line := d.style.Dim(first) + title + gap + d.paint(p)(p.State)
	if p.Cause {
		line += "  " + d.style.Bold(d.style.Bad("◀ the cause"))
	}
	d.text.WriteString(strings.TrimRight(line, " ") + "\n")
	bar := "   "
	if len(p.Parts) > 0 {
		bar = "│  "
	}
	for _, note := range p.Notes {
		fmt.Fprintf(d.text, "%s%s\n", d.style.Dim(rest+bar), note)
	}
	for i, part := range p.Parts {
		if i == len(p.Parts)-1 {
			d.part(part, rest+"└─ ", rest+"   ")
		} else {
			d.part(part, rest+"├─ ", rest+"│  ")
		}
	}
}

func (d *drawing) paint(p *Part) func(string) string {
	switch p.Health {
	case Fine:
		return d.style.Good
	case Broken:
		return d.style.Bad
	case Waiting:
		return d.style.Waiting
	}
	return d.style.Dim
}

func width(p *Part, depth int) int {
	widest := 3*depth + utf8.RuneCountInString(p.Kind+"/"+p.Name)
	for _, part := range p.Parts {
		widest = max(widest, width(part, depth+1))
	}
	return widest
}
