package render

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// InvalidValuesError says which values the chart's schema refuses. It is a mistake in the values, not in the chart.
type InvalidValuesError struct {
	// Problems are what the schema says, in the order of the schema. There is at least one.
	Problems []Problem
}

// Problem is one value that the schema refuses.
type Problem struct {
	// Path leads to the value, with dots between the keys. Empty for the values as a whole.
	Path string
	// Reason says what is wrong with it.
	Reason string
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Reason
	}
	return p.Path + ": " + p.Reason
}

// Error names every problem.
func (e *InvalidValuesError) Error() string {
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = p.String()
	}
	return "invalid values: " + strings.Join(texts, "; ")
}

func compileSchema(data []byte) (*jsonschema.Schema, error) {
	const url = "file:///values.schema.json"
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(url, document); err != nil {
		return nil, err
	}
	return compiler.Compile(url)
}

func validate(schema *jsonschema.Schema, values map[string]any) error {
	err := schema.Validate(values)
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return fmt.Errorf("check values: %w", err)
	}
	return &InvalidValuesError{Problems: problems(invalid, message.NewPrinter(language.English))}
}

// problems gathers the innermost errors, which name the value itself.
func problems(invalid *jsonschema.ValidationError, printer *message.Printer) []Problem {
	if len(invalid.Causes) == 0 {
		return []Problem{{
			Path:   strings.Join(invalid.InstanceLocation, "."),
			Reason: reason(invalid.ErrorKind, printer),
		}}
	}
	var out []Problem
	for _, cause := range invalid.Causes {
		out = append(out, problems(cause, printer)...)
	}
	return out
}

// reason puts into plain words what the schema's own message leaves unclear.
func reason(of jsonschema.ErrorKind, printer *message.Printer) string {
	switch k := of.(type) {
	case *kind.FalseSchema:
		return "is set by the chart and may not be given"
	case *kind.AdditionalProperties:
		return "has no value called " + strings.Join(k.Properties, ", ")
	case *kind.Required:
		// Every such value has a default: it is only missing when null took it away.
		return strings.Join(k.Missing, ", ") + " may not be null"
	}
	return of.LocalizedString(printer)
}
