package render_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/aimodel-operator/aimodel-operator/internal/render"
	"github.com/aimodel-operator/aimodel-operator/internal/values"
)

func TestInvalidValuesAreTold(t *testing.T) {
	r := newRenderer(t)
	for name, tc := range map[string]struct {
		values map[string]any
		path   string
		reason string
	}{
		"unknown value":        {map[string]any{"imagee": "a:1"}, "", "has no value called imagee"},
		"unknown nested value": {map[string]any{"drain": map[string]any{"secs": 1}}, "drain", "has no value called secs"},
		"wrong type":           {map[string]any{"drain": map[string]any{"seconds": "ten"}}, "drain.seconds", "got string, want integer"},
		"text for a map":       {map[string]any{"drain": "on"}, "drain", "got string, want object"},
		"not one of":           {map[string]any{"shm": map[string]any{"mode": "auto"}}, "shm.mode", "value must be one of"},
		"too small":            {map[string]any{"startup": map[string]any{"budgetSeconds": 0}}, "startup.budgetSeconds", "minimum"},
		"null for a map":       {map[string]any{"drain": nil}, "", "drain may not be null"},
		"label of the chart": {
			map[string]any{"podLabels": map[string]any{"app.kubernetes.io/instance": "x"}},
			"podLabels.app.kubernetes.io/instance", "is set by the chart",
		},
		"managed-by": {
			map[string]any{"podLabels": map[string]any{"app.kubernetes.io/managed-by": "x"}},
			"podLabels.app.kubernetes.io/managed-by", "is set by the chart",
		},
		"label of the monitor": {
			map[string]any{"podMonitor": map[string]any{"labels": map[string]any{"app.kubernetes.io/name": "x"}}},
			"podMonitor.labels.app.kubernetes.io/name", "is set by the chart",
		},
		"not a duration":      {map[string]any{"podMonitor": map[string]any{"interval": "1.5s"}}, "podMonitor.interval", "does not match pattern"},
		"relative path":       {map[string]any{"podMonitor": map[string]any{"path": "metrics"}}, "podMonitor.path", "does not match pattern"},
		"label not text":      {map[string]any{"podLabels": map[string]any{"x": true}}, "podLabels.x", "got boolean, want string"},
		"not a quantity":      {map[string]any{"shm": map[string]any{"sizeLimit": "much"}}, "shm.sizeLimit", "does not match pattern"},
		"volume with no name": {map[string]any{"extraVolumes": []any{map[string]any{}}}, "extraVolumes.0", "name may not be null"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.values["image"] = "a:1"
			_, err := r.Render("n", "x", tc.values)
			var invalid *render.InvalidValuesError
			if !errors.As(err, &invalid) {
				t.Fatalf("error is %v", err)
			}
			if p := invalid.Problems[0]; p.Path != tc.path || !strings.Contains(p.Reason, tc.reason) {
				t.Errorf("problem is %q", p)
			}
			if !strings.HasPrefix(err.Error(), "invalid values: ") {
				t.Errorf("message is %q", err)
			}
		})
	}
}

func TestEveryProblemIsTold(t *testing.T) {
	_, err := newRenderer(t).Render("n", "x", map[string]any{"image": 1, "port": "a"})
	if err == nil || !strings.Contains(err.Error(), "image: ") || !strings.Contains(err.Error(), "port: ") {
		t.Errorf("error is %v", err)
	}
}

func TestWhatIsNoObjectIsTold(t *testing.T) {
	_, err := newRenderer(t).Render("n", "x", map[string]any{
		"image":       "a:1",
		"tolerations": []any{map[string]any{"kee": "spot"}},
	})
	var decode *render.DecodeError
	if !errors.As(err, &decode) {
		t.Fatalf("error is %v", err)
	}
	for _, part := range []string{"deployment.yaml", "Deployment x", `unknown field "spec.template.spec.tolerations[0].kee"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not tell %q", err, part)
		}
	}
	if invalid := new(render.InvalidValuesError); errors.As(err, &invalid) {
		t.Error("the schema cannot have found that")
	}
}

func TestAFailingTemplateIsTold(t *testing.T) {
	_, err := newRenderer(t).Render("n", "x", map[string]any{})
	if err == nil || !strings.Contains(err.Error(), "image is required") {
		t.Errorf("error is %v", err)
	}
}

func TestObjectsComeInApplyOrder(t *testing.T) {
	r := newRenderer(t)
	for _, g := range goldens(t) {
		place := -1
		for _, obj := range renderGolden(t, r, g) {
			gvk := obj.GetObjectKind().GroupVersionKind()
			at := -1
			for i, known := range render.Kinds() {
				if known == gvk {
					at = i
				}
			}
			if at <= place {
				t.Errorf("%s: %s comes too late", g.name, gvk.Kind)
			}
			place = at
			if obj.GetName() != g.inputs.Owner.ChildName || obj.GetNamespace() != g.inputs.Owner.Namespace {
				t.Errorf("%s: %s is %s/%s", g.name, gvk.Kind, obj.GetNamespace(), obj.GetName())
			}
		}
	}
}

func TestRenderingIsDeterministicAndConcurrent(t *testing.T) {
	r := newRenderer(t)
	cases := goldens(t)
	var group sync.WaitGroup
	for _, g := range cases {
		want := renderGolden(t, r, g)
		for range 4 {
			group.Go(func() {
				got, err := r.Render(g.inputs.Owner.Namespace, g.inputs.Owner.ChildName, g.values)
				if err != nil {
					t.Errorf("%s: %v", g.name, err)
				}
				if !equality.Semantic.DeepEqual(want, got) {
					t.Errorf("%s differs: %s", g.name, cmp.Diff(want, got))
				}
			})
		}
	}
	group.Wait()
}

// optionalKinds are those that a cluster may lack. Few people ask for them.
const optionalKinds = 1

// theBenchmark is the golden case of a service as most people write it, with every object that any cluster takes.
func theBenchmark(tb testing.TB, r *render.Renderer) golden {
	tb.Helper()
	for _, g := range goldens(tb) {
		if g.name == "service-default" {
			if n := len(renderGolden(tb, r, g)); n != len(render.Kinds())-optionalKinds {
				tb.Fatalf("it has %d objects", n)
			}
			return g
		}
	}
	tb.Fatal("it is gone")
	return golden{}
}

// maxRenderBytes is what one rendering may allocate. Time is for the benchmark: it depends on the machine.
const maxRenderBytes = 400_000

func TestRenderingStaysWithinItsMemory(t *testing.T) {
	r := newRenderer(t)
	g := theBenchmark(t, r)
	const runs = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		renderGolden(t, r, g)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / runs; each > maxRenderBytes {
		t.Errorf("one rendering takes %d bytes, more than %d", each, maxRenderBytes)
	}
}

func BenchmarkRender(b *testing.B) {
	r := newRenderer(b)
	g := theBenchmark(b, r)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Render(g.inputs.Owner.Namespace, g.inputs.Owner.ChildName, g.values); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuildAndRender(b *testing.B) {
	r := newRenderer(b)
	g := theBenchmark(b, r)
	b.ReportAllocs()
	for b.Loop() {
		built, err := values.Build(g.inputs)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Render(g.inputs.Owner.Namespace, g.inputs.Owner.ChildName, built); err != nil {
			b.Fatal(err)
		}
	}
}
