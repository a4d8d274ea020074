package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// TestDockerfiles checks each Dockerfile with the checks of Docker's builder, a few rules, and what images.yaml says of the
// same image: whichever way it is built, it must hold and say the same.
func TestDockerfiles(t *testing.T) {
	root := filepath.Join("..", "..")
	config, err := readConfig(root, "tools/images/images.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ignore, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, i := range config.Images {
		if i.Dockerfile == "" {
			continue
		}
		described[i.Dockerfile] = true
		t.Run(i.Dockerfile, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(root, i.Dockerfile))
			if err != nil {
				t.Fatal(err)
			}
			for _, problem := range append(lintDockerfile(data, string(ignore), config, &i), buildChecks(t.Context(), data)...) {
				t.Error(problem)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(root, "*Dockerfile"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no Dockerfile: %v", err)
	}
	for _, file := range files {
		if name := filepath.Base(file); !described[name] {
			t.Errorf("no image of images.yaml names %s", name)
		}
	}
}

func TestDockerfilesThatAreRefused(t *testing.T) {
	const good = `FROM golang:1.26 AS build
COPY . .
FROM scratch
LABEL org.opencontainers.image.title="t" org.opencontainers.image.description="d" org.opencontainers.image.licenses="l"
COPY --from=build /out/p /p
USER 65532:65532
ENTRYPOINT ["/p"]
`
	config := &config{User: "65532:65532", Licenses: "l"}
	described := &image{Name: "p", Title: "t", Description: "d", Programs: []program{{Package: "./p", To: "/p"}}, Entrypoint: []string{"/p"}}
	if problems := lintDockerfile([]byte(good), "*\n!cmd\n", config, described); len(problems) > 0 {
		t.Fatalf("the good one: %v", problems)
	}
	if problems := buildChecks(t.Context(), []byte(good)); len(problems) > 0 {
		t.Fatalf("the good one: %v", problems)
	}
	for name, tc := range map[string]struct{ old, replacement, want string }{
		"a secret":                 {"COPY . .", "ENV API_TOKEN=x", "SecretsUsedInArgOrEnv"},
		"an unknown variable":      {"/out/p /p", "/out/$P /p", "UndefinedVar"},
		"a relative folder":        {"COPY . .", "WORKDIR src", "WorkdirRelativePath"},
		"a syntax error":           {"COPY . .", "COPPY . .", "unknown instruction: COPPY"},
		"a base without a tag":     {"golang:1.26", "golang", "names no version"},
		"a base that moves":        {"golang:1.26", "golang:latest", "names no version"},
		"another last base":        {"FROM scratch", "FROM debian:12", "is not built from scratch"},
		"another user":             {"USER 65532:65532", "USER 0", `user is "0"`},
		"a shell as entrypoint":    {`ENTRYPOINT ["/p"]`, "ENTRYPOINT /p", "entrypoint is"},
		"a missing label":          {`org.opencontainers.image.title="t"`, "", "title"},
		"another place":            {"/out/p /p", "/out/p /bin/p", "copies [/bin/p]"},
		"ADD":                      {"COPY --from=build", "ADD", "ADD"},
		"an unknown stage":         {"--from=build", "--from=builder", `no stage "builder"`},
		"a source that is ignored": {"COPY . .", "COPY docs .", ".dockerignore leaves out docs"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(good, tc.old, tc.replacement, 1)
			problems := fmt.Sprint(lintDockerfile([]byte(changed), "*\n!cmd\n", config, described), buildChecks(t.Context(), []byte(changed)))
			if !strings.Contains(problems, tc.want) {
				t.Errorf("problems = %s, want %q", problems, tc.want)
			}
		})
	}
}

func lintDockerfile(data []byte, ignore string, config *config, described *image) (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	parsed, err := parser.Parse(bytes.NewReader(data))
	if err != nil {
		return []string{err.Error()}
	}
	for _, warning := range parsed.Warnings {
		problem("%s", warning.Short)
	}
	stages, _, err := instructions.Parse(parsed.AST, nil)
	if err != nil {
		return []string{err.Error()}
	}
	names := map[string]bool{"": true}
	var user string
	var entrypoint, targets []string
	labels := map[string]string{}
	for at, stage := range stages {
		last := at == len(stages)-1
		switch _, version, _ := strings.Cut(path.Base(stage.BaseName), ":"); {
		case last && stage.BaseName != "scratch":
			problem("the image is not built from scratch but from %s", stage.BaseName)
		case !last && !names[stage.BaseName] && (version == "" || version == "latest"):
			problem("%s names no version", stage.BaseName)
		}
		for _, command := range stage.Commands {
			if copying, is := command.(*instructions.CopyCommand); is {
				if !names[copying.From] {
					problem("there is no stage %q", copying.From)
				}
				for _, source := range copying.SourcePaths {
					if copying.From == "" && source != "." && !included(ignore, source) {
						problem(".dockerignore leaves out %s", source)
					}
				}
			}
			if _, is := command.(*instructions.AddCommand); is {
				problem("ADD fetches and unpacks: use COPY")
			}
			if !last {
				continue
			}
			switch command := command.(type) {
			case *instructions.CopyCommand:
				targets = append(targets, path.Clean(command.DestPath))
			case *instructions.UserCommand:
				user = command.User
			case *instructions.EntrypointCommand:
				entrypoint = command.CmdLine
				if command.PrependShell {
					problem("the entrypoint is run by a shell, which the image has not")
				}
			case *instructions.LabelCommand:
				for _, label := range command.Labels {
					labels[label.Key] = strings.Trim(label.Value, `"`)
				}
			}
		}
		names[stage.Name] = true
	}

	// The bundle is never run, and its Dockerfile is generated by another tool.
	own := described.LabelsFrom == ""
	if own && user != config.User {
		problem("the user is %q, images.yaml has %q", user, config.User)
	}
	if !slices.Equal(entrypoint, described.Entrypoint) {
		problem("the entrypoint is %q, images.yaml has %q", entrypoint, described.Entrypoint)
	}
	if want := described.targets(); !slices.Equal(slices.Sorted(slices.Values(targets)), want) {
		problem("it copies %v, images.yaml has %v", targets, want)
	}
	wantLabels := maps.Clone(described.Labels)
	if own {
		wantLabels = map[string]string{
			annotation + "title": described.Title, annotation + "description": described.Description, annotation + "licenses": config.Licenses,
		}
		maps.Copy(wantLabels, described.Labels)
	}
	for _, name := range slices.Sorted(maps.Keys(wantLabels)) {
		if got := labels[name]; got != wantLabels[name] {
			problem("the label %s is %q, images.yaml has %q", name, got, wantLabels[name])
		}
	}
	return problems
}

// targets are the places that the image has files in.
func (i *image) targets() []string {
	var all []string
	for _, p := range i.Programs {
		all = append(all, p.To)
	}
	for _, f := range i.Files {
		all = append(all, path.Clean(f.To))
	}
	if i.Certificates {
		all = append(all, certificatesPath)
	}
	slices.Sort(all)
	return all
}

// included tells whether a .dockerignore that begins with * lets a path through again.
func included(ignore, source string) bool {
	source = path.Clean(source)
	for _, line := range strings.Fields(ignore) {
		if kept, is := strings.CutPrefix(line, "!"); is && (source == kept || strings.HasPrefix(source, kept+"/")) {
			return true
		}
	}
	return false
}
