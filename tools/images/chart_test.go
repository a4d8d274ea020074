package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const chartVersion = "3.2.1"

// chartRepository writes a repository with a chart, one file of which is a link to another folder.
func chartRepository(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "chart/Chart.yaml"), "apiVersion: v2\nname: hello\nversion: "+chartVersion+"\ndescription: Says hello\n")
	write(t, filepath.Join(root, "chart/templates/a.yaml"),
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  text: {{ .Files.Get \"files/text\" }}\n")
	write(t, filepath.Join(root, "elsewhere/text"), "hello")
	if err := os.Symlink("../elsewhere", filepath.Join(root, "chart/files")); err != nil {
		t.Fatal(err)
	}
	return root
}

func chartCommand(t *testing.T, command, root, base string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), []string{command, "-root", root, "-chart", "chart", "-out", filepath.Join(root, "dist"),
		"-base", base, "-version", chartVersion, "-time", "1700000000"}, &out)
	return strings.TrimSpace(out.String()), err
}

func TestChartPackagesAreTheSameEachTime(t *testing.T) {
	var packages [2][]byte
	for at := range packages {
		file, err := chartCommand(t, "chart", chartRepository(t), "example.com/hello")
		if err != nil {
			t.Fatal(err)
		}
		if packages[at], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(packages[0], packages[1]) {
		t.Error("the packages differ")
	}
}

func TestHelmFindsTheChartInARegistry(t *testing.T) {
	base := startRegistry(t) + "/team/hello"
	root := chartRepository(t)
	if _, err := chartCommand(t, "push-chart", root, base); err == nil || !strings.Contains(err.Error(), "it was not packaged") {
		t.Errorf("a push before packaging: %v", err)
	}
	if _, err := chartCommand(t, "chart", root, base); err != nil {
		t.Fatal(err)
	}
	pushed, err := chartCommand(t, "push-chart", root, base)
	if err != nil {
		t.Fatal(err)
	}
	reference, digest, _ := strings.Cut(strings.TrimPrefix(pushed, "oci://"), "@")
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Get(tag)
	if err != nil {
		t.Fatal(err)
	}
	if found.Digest.String() != digest {
		t.Errorf("the registry has %s, push printed %s", found.Digest, digest)
	}

	helm, err := filepath.Abs("../../bin/helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(helm); err != nil {
		t.Skip("bin/helm is not built: what was pushed is not shown to Helm")
	}
	chart := "oci://" + strings.TrimSuffix(reference, ":"+chartVersion)
	out, err := exec.CommandContext(t.Context(), helm, "template", "x", chart, "--version", chartVersion, "--plain-http").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "text: hello") {
		t.Errorf("helm template %s: %v\n%s", chart, err, out)
	}
}

func TestAChartOfAnotherVersionIsRefused(t *testing.T) {
	root := chartRepository(t)
	write(t, filepath.Join(root, "chart/Chart.yaml"), "name: hello\nversion: 0.0.1\n")
	if _, err := chartCommand(t, "chart", root, "example.com/hello"); err == nil || !strings.Contains(err.Error(), `want version "3.2.1"`) {
		t.Errorf("error = %v", err)
	}
}
