// Package output writes what the kubectl plugin has to say: tables, JSON, YAML, and colours where a person looks on. It reads
// no cluster.
package output

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"
)

// The formats.
const (
	Table = "table"
	Wide  = "wide"
	JSON  = "json"
	YAML  = "yaml"
)

// Check says whether a format is one of those allowed.
func Check(format string, allowed ...string) error {
	if slices.Contains(allowed, format) {
		return nil
	}
	return fmt.Errorf("--output must be one of %s, not %q", strings.Join(allowed, ", "), format)
}

// Print writes a value as JSON or YAML.
func Print(out io.Writer, format string, value any) error {
	if format == JSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	data, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = out.Write(data)
	return err
}

// Style colours words. The zero Style leaves them as they are.
type Style struct{ colour bool }

// StyleFor colours what goes to a terminal, unless NO_COLOR is set or the terminal cannot do it.
func StyleFor(out io.Writer) Style {
	file, ok := out.(*os.File)
	return Style{colour: ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))}
}

// Coloured is a Style that always colours.
func Coloured() Style { return Style{colour: true} }

// Good is for what is as it should be.
func (s Style) Good(text string) string { return s.paint("32", text) }

// Bad is for what is wrong.
func (s Style) Bad(text string) string { return s.paint("31", text) }

// Waiting is for what is on its way.
func (s Style) Waiting(text string) string { return s.paint("33", text) }

// Bold is for what is to be seen first.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim is for what may be passed over.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Added is for a line of a difference.
func (s Style) Added(text string) string { return s.paint("32", text) }

// Removed is for a line of a difference.
func (s Style) Removed(text string) string { return s.paint("31", text) }

func (s Style) paint(code, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Cell is a word of a table, with the colour that it has on a terminal.
type Cell struct {
	Text  string
	Paint func(string) string
}

// Plain makes cells of words.
func Plain(words ...string) []Cell {
	cells := make([]Cell, len(words))
	for i, word := range words {
		cells[i] = Cell{Text: word}
	}
	return cells
}

// WriteTable writes rows in columns as wide as their widest word.
func WriteTable(out io.Writer, rows [][]Cell) error {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			word := cell.Text
			if cell.Paint != nil {
				word = cell.Paint(word)
			}
			text.WriteString(word)
			if i < len(row)-1 {
				text.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell.Text)+3))
			}
		}
		text.WriteByte('\n')
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// Age is how long ago something was, as kubectl writes it.
func Age(now, then time.Time) string {
	if then.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(now.Sub(then), 0))
}

// OneLine keeps control characters and line breaks of somebody else's text off the terminal.
func OneLine(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, text)), " ")
}
