package values

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	helmcharts "github.com/aimodel-operator/aimodel-operator/helm-charts"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

var (
	// ErrUnknownRuntime says that there is no preset of the name.
	ErrUnknownRuntime = errors.New("unknown runtime")
	// ErrSourceNotSupported says that the runtime cannot read weights from the model's source.
	ErrSourceNotSupported = errors.New("source not supported")
	// ErrFormatNotSupported says that the runtime cannot load the model's format.
	ErrFormatNotSupported = errors.New("format not supported")
)

const (
	schemeHF  = "hf"
	schemePVC = "pvc"
	// modelMount is where the chart mounts a claim that holds the weights.
	modelMount = "/mnt/models"
)

// hfModel is what names a model on Hugging Face: an organisation, a repository, and for some formats a variant of the
// weights. Anything else could be taken for an argument of the server.
var hfModel = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?(:[\w.-]+)?$`)

// preset is what is known of a runtime.
type preset struct {
	name string
	// Path is the path of its API. Empty: the model says.
	Path string `json:"path,omitempty"`
	// Sources are the schemes that it reads by itself. Nil: the image is told, and does as it likes.
	Sources []string `json:"sources,omitempty"`
	// Formats are the formats that it loads, with its own names for them. Nil: any.
	Formats map[string]string `json:"formats,omitempty"`
	// Args are its arguments, with placeholders.
	Args []string `json:"args,omitempty"`
	// Values are values of the chart.
	Values map[string]any `json:"values,omitempty"`
}

// presets reads the presets beside the chart, once.
var presets = sync.OnceValues(func() (map[string]*preset, error) {
	entries, err := helmcharts.ModelServer.ReadDir(helmcharts.PresetsDir)
	if err != nil {
		return nil, fmt.Errorf("read presets: %w", err)
	}
	out := make(map[string]*preset, len(entries))
	for _, entry := range entries {
		data, err := helmcharts.ModelServer.ReadFile(path.Join(helmcharts.PresetsDir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read preset: %w", err)
		}
		name := strings.TrimSuffix(entry.Name(), path.Ext(entry.Name()))
		p := &preset{name: name}
		if err := yaml.UnmarshalStrict(data, p); err != nil {
			return nil, fmt.Errorf("read preset %q: %w", name, err)
		}
		out[name] = p
	}
	return out, nil
})

func presetOf(name aiv1.RuntimeName) (*preset, error) {
	all, err := presets()
	if err != nil {
		return nil, err
	}
	p, ok := all[string(name)]
	if !ok {
		return nil, fmt.Errorf("%w %q", ErrUnknownRuntime, name)
	}
	return p, nil
}

// source is an address of weights, taken apart.
type source struct {
	scheme string
	// model is what the server is told to load.
	model string
	// claim and path are of a pvc source.
	claim, path string
}

// isRemote says whether whoever serves the model has to fetch its weights over the network.
func (s source) isRemote() bool { return s.scheme != "" && s.scheme != schemePVC }

// source takes the address of the weights apart and checks that the runtime can read them.
func (p *preset) source(from *aiv1.ModelSource) (source, error) {
	if from == nil {
		if p.Sources != nil {
			return source{}, fmt.Errorf("%w: the runtime %s loads the weights itself, and the model has no spec.source",
				ErrSourceNotSupported, p.name)
		}
		return source{}, nil
	}
	scheme, rest, _ := strings.Cut(from.URI, "://")
	if p.Sources != nil && !slices.Contains(p.Sources, scheme) {
		return source{}, fmt.Errorf("%w: the runtime %s reads %s, not %s://",
			ErrSourceNotSupported, p.name, schemes(p.Sources), scheme)
	}
	out := source{scheme: scheme, model: from.URI}
	switch scheme {
	case schemeHF:
		out.model = strings.TrimSuffix(rest, "/")
		if p.Sources != nil && !hfModel.MatchString(out.model) {
			return source{}, fmt.Errorf("%w: %q names no model on Hugging Face, which is hf://ORGANISATION/MODEL",
				ErrSourceNotSupported, from.URI)
		}
	case schemePVC:
		claim, below, _ := strings.Cut(rest, "/")
		if problems := validation.IsDNS1123Subdomain(claim); len(problems) > 0 {
			return source{}, fmt.Errorf("%w: %q cannot be the name of a claim: %s", ErrSourceNotSupported, claim, problems[0])
		}
		// A rooted path cannot climb out of the volume.
		out.claim, out.path = claim, strings.TrimPrefix(path.Clean("/"+below), "/")
		out.model = path.Join(modelMount, out.path)
	}
	return out, nil
}

func schemes(of []string) string {
	return strings.Join(of, ":// and ") + "://"
}

// format returns the runtime's own name of the format, which may be empty.
func (p *preset) format(of *aiv1.ModelFormat) (string, error) {
	if of == nil || p.Formats == nil {
		return "", nil
	}
	own, ok := p.Formats[of.Name]
	if !ok {
		return "", fmt.Errorf("%w: the runtime %s cannot load %s", ErrFormatNotSupported, p.name, of.Name)
	}
	return own, nil
}

// arguments fills the placeholders of the arguments. An argument whose placeholder stays empty is left out.
func (p *preset) arguments(in resolve.Inputs, from source, format string) []string {
	fills := map[string]string{
		"{model}":        from.model,
		"{name}":         in.Model.Name,
		"{format}":       format,
		"{revision}":     "",
		"{accelerators}": "",
		"{port}":         p.port(in),
	}
	// A claim has no revisions: the path says which weights.
	if in.Model.Source != nil && from.scheme != schemePVC {
		fills["{revision}"] = in.Model.Source.Revision
	}
	if in.Accelerator != nil {
		fills["{accelerators}"] = strconv.Itoa(int(acceleratorCount(in.Accelerator)))
	}
	out := make([]string, 0, len(p.Args)+len(in.Runtime.Args))
	for _, arg := range p.Args {
		if filled, ok := fill(arg, fills); ok {
			out = append(out, filled)
		}
	}
	return out
}

// fill puts the fills into one argument. It returns false when one of them is empty.
func fill(arg string, fills map[string]string) (string, bool) {
	for placeholder, value := range fills {
		if before, after, found := strings.Cut(arg, placeholder); found {
			// Kubernetes would expand $(NAME) in an argument; a doubled dollar sign stays a dollar sign.
			return before + strings.ReplaceAll(value, "$", "$$") + after, value != ""
		}
	}
	return arg, true
}

func (p *preset) port(in resolve.Inputs) string {
	if in.Runtime.Port != nil {
		return strconv.Itoa(int(*in.Runtime.Port))
	}
	if port, ok := p.Values["port"].(float64); ok {
		return strconv.Itoa(int(port))
	}
	return ""
}
