package why

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/clitest"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// now is when the objects of the test data are looked at.
var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Each file of objects tells of the first AIModel or InferenceService in it.
func TestStoriesGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.input.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".input.yaml"), func(t *testing.T) {
			objects := clitest.Objects(t, file)
			reader := clitest.Client(t, objects...)
			first, ok := objects[0].(access.Object)
			if !ok {
				t.Fatalf("the first object of %s is a %T", file, objects[0])
			}
			object, err := access.Find(t.Context(), reader, first.GetNamespace(), access.Short(access.KindOf(first), first.GetName()))
			if err != nil {
				t.Fatal(err)
			}
			teller := &Teller{Reader: reader, Now: func() time.Time { return now }}
			story, err := teller.Tell(t.Context(), object)
			if err != nil {
				t.Fatal(err)
			}
			// The words are those of the table of reasons, which is free to change them.
			if entry, known := diagnose.Lookup(story.Reason); known && story.Reason != aiv1.ReasonModelNotResolved {
				if story.Meaning != entry.Meaning || story.Advice != entry.Advice || story.Advice == "" {
					t.Errorf("the advice for %s is %q", story.Reason, story.Advice)
				}
			}
			if story.Advice != "" {
				story.Meaning, story.Advice = "MEANING", "ADVICE"
			}
			var out bytes.Buffer
			if err := Write(&out, output.Style{}, now, story); err != nil {
				t.Fatal(err)
			}
			clitest.Golden(t, strings.Replace(file, ".input.yaml", ".txt", 1), out.Bytes(), *update)
		})
	}
}

func TestASecretIsNeverReadWhole(t *testing.T) {
	objects := clitest.Objects(t, "testdata/secret-missing.input.yaml")
	reader := &secretWatcher{Reader: clitest.Client(t, objects...), t: t}
	object, err := access.Find(t.Context(), reader, "team-a", "gated")
	if err != nil {
		t.Fatal(err)
	}
	teller := &Teller{Reader: reader, Now: time.Now}
	if _, err := teller.Tell(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if reader.asked == 0 {
		t.Error("the Secret was not looked for at all")
	}
}

// narrow is somebody who may look at the objects of a namespace only.
type narrow struct{ client.Reader }

func (n narrow) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if (&client.ListOptions{}).ApplyOptions(options).Namespace == "" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("not you"))
	}
	return n.Reader.List(ctx, list, options...)
}

// noPods is somebody who may look at the nodes too.
type noPods struct{ client.Reader }

func (n noPods) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, nodes := list.(*corev1.NodeList); nodes {
		return n.Reader.List(ctx, list, options...)
	}
	return narrow(n).List(ctx, list, options...)
}

func TestSomebodyWhoMaySeeLessIsToldSo(t *testing.T) {
	all := clitest.Client(t, clitest.Objects(t, "testdata/unschedulable.input.yaml")...)
	for name, tc := range map[string]struct {
		reader      client.Reader
		words, note string
	}{
		"no nodes":            {narrow{all}, "A replica asks for 4 nvidia.com/gpu", "you may not list nodes, so what they have is not told"},
		"no pods of all else": {noPods{all}, "has 8, which other pods hold", "you may not list the pods of all namespaces, so what is free on the nodes is not told"},
	} {
		t.Run(name, func(t *testing.T) {
			object, err := access.Find(t.Context(), all, "team-a", "llama")
			if err != nil {
				t.Fatal(err)
			}
			story, err := (&Teller{Reader: tc.reader, Now: func() time.Time { return now }}).Tell(t.Context(), object)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(story.Tree.Notes, tc.note) {
				t.Errorf("notes = %q, want %q", story.Tree.Notes, tc.note)
			}
			if len(story.Found) != 1 || !strings.Contains(story.Found[0].Message, tc.words) {
				t.Errorf("found = %v, want %q", story.Found, tc.words)
			}
		})
	}
}

// noJobs is somebody who may not look at Jobs.
type noJobs struct{ client.Reader }

func (n noJobs) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, jobs := list.(*batchv1.JobList); jobs {
		return apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "", errors.New("not you"))
	}
	return n.Reader.List(ctx, list, options...)
}

func TestSomebodyWhoMayNotSeeJobsIsToldSo(t *testing.T) {
	reader := noJobs{clitest.Client(t, clitest.Objects(t, "testdata/claim-being-filled.input.yaml")...)}
	object, err := access.Find(t.Context(), reader, "team-a", "sentiment")
	if err != nil {
		t.Fatal(err)
	}
	story, err := (&Teller{Reader: reader, Now: func() time.Time { return now }}).Tell(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	deployment := story.Tree.find(func(p *Part) bool { return p.Kind == "Deployment" })
	if want := "the Jobs of this namespace cannot be listed, so those that fill a claim are not told: you may not, or there are too many"; !slices.Contains(deployment.Notes, want) {
		t.Errorf("notes = %q, want %q", deployment.Notes, want)
	}
	if story.Reason != aiv1.ReasonCrashLoop || story.Advice == "" {
		t.Errorf("the rest is not told: %+v", story)
	}
}

func TestColoursChangeNothingButColour(t *testing.T) {
	objects := clitest.Objects(t, "testdata/unschedulable.input.yaml")
	reader := clitest.Client(t, objects...)
	object, err := access.Find(t.Context(), reader, "team-a", "llama")
	if err != nil {
		t.Fatal(err)
	}
	story, err := (&Teller{Reader: reader, Now: func() time.Time { return now }}).Tell(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	var plain, coloured bytes.Buffer
	if err := Write(&plain, output.Style{}, now, story); err != nil {
		t.Fatal(err)
	}
	if err := Write(&coloured, output.Coloured(), now, story); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(coloured.String(), "\x1b[31m") {
		t.Error("nothing is red")
	}
	if diff := cmp.Diff(plain.String(), clitest.WithoutColours(coloured.String())); diff != "" {
		t.Errorf("without its colours it is another text:\n%s", diff)
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}

var _ client.Reader = &secretWatcher{}
