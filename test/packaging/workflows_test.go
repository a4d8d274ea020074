package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is what is used of the format of GitHub's workflows: anything else is a mistake, or belongs here.
type workflow struct {
	Name        string            `json:"name"`
	On          map[string]any    `json:"true"` // what YAML 1.1 makes of the key "on"
	Permissions map[string]string `json:"permissions"`
	Concurrency map[string]any    `json:"concurrency"`
	Jobs        map[string]struct {
		RunsOn      string            `json:"runs-on"`
		Timeout     int               `json:"timeout-minutes"`
		Permissions map[string]string `json:"permissions"`
		Env         map[string]string `json:"env"`
		Steps       []step            `json:"steps"`
	} `json:"jobs"`
}

type step struct {
	Name string            `json:"name"`
	If   string            `json:"if"`
	Uses string            `json:"uses"`
	Run  string            `json:"run"`
	With map[string]any    `json:"with"`
	Env  map[string]string `json:"env"`
}

var (
	pinned     = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	expression = regexp.MustCompile(`\$\{\{`)
	target     = regexp.MustCompile(`\bmake ([a-z-]+)`)
)

func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("workflows = %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var w workflow
			if err := yaml.UnmarshalStrict([]byte(read(t, file)), &w); err != nil {
				t.Fatal(err)
			}
			if w.Name == "" || len(w.On) == 0 || len(w.Jobs) == 0 {
				t.Error("it has no name, no trigger or no job")
			}
			if len(w.Permissions) == 0 {
				t.Error("it does not limit the permissions of its token")
			}
			for name, job := range w.Jobs {
				if job.RunsOn == "" || job.Timeout == 0 || len(job.Steps) == 0 {
					t.Errorf("job %s lacks a runner, a timeout or steps", name)
				}
				for _, step := range job.Steps {
					checkStep(t, step)
				}
			}
		})
	}
}

func checkStep(t *testing.T, s step) {
	t.Helper()
	if (s.Uses == "") == (s.Run == "") {
		t.Errorf("a step has either uses or run: %+v", s)
	}
	if s.Uses != "" && !pinned.MatchString(s.Uses) {
		t.Errorf("%s is not pinned to a commit", s.Uses)
	}
	if expression.MatchString(s.Run) {
		t.Errorf("text is put into a script, where it may become a command; use env: %s", s.Run)
	}
	if s.Run == "" {
		return
	}
	if out, err := exec.CommandContext(t.Context(), "bash", "-n", "-c", s.Run).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", s.Run, err, out)
	}
	makefile := read(t, root, "Makefile")
	for _, found := range target.FindAllStringSubmatch(s.Run, -1) {
		if !strings.Contains(makefile, "\n"+found[1]+":") {
			t.Errorf("the Makefile has no %s", found[1])
		}
	}
	if strings.Contains(s.Run, ".ci/run") {
		if _, err := os.Stat(filepath.Join(root, ".ci/run")); err != nil {
			t.Error(err)
		}
	}
}
