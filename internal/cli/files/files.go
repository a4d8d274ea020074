// Package files reads the documents of YAML and JSON files for the kubectl plugin. It knows of no kind but List.
package files

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Read gives each document of the named files: of files, of folders of files, and of standard input where a name is "-".
// Instead of a List come its items. An error names the file.
func Read(names []string, stdin io.Reader, each func(document []byte) error) error {
	all, err := expand(names)
	if err != nil {
		return err
	}
	for _, name := range all {
		if err := readFile(name, stdin, each); err != nil {
			return err
		}
	}
	return nil
}

// expand puts the files of a folder in its place.
func expand(names []string) ([]string, error) {
	var all []string
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case name == "-" || (err == nil && !info.IsDir()):
			all = append(all, name)
			continue
		case err != nil:
			return nil, fmt.Errorf("read the file: %w", err)
		}
		for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
			found, err := filepath.Glob(filepath.Join(name, pattern))
			if err != nil {
				return nil, fmt.Errorf("read the folder: %w", err)
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

func readFile(name string, stdin io.Reader, each func([]byte) error) error {
	in := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("read the file: %w", err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		data, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && !isComment(data) {
			err = items(data, each)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
}

// items gives a document, or what is in it if it is a List.
func items(data []byte, each func([]byte) error) error {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	// What is no list, or no YAML, is for whoever reads the documents to judge.
	if err := yaml.Unmarshal(data, &list); err != nil || !strings.HasSuffix(list.Kind, "List") || list.Items == nil {
		return each(data)
	}
	for _, item := range list.Items {
		if err := items(item, each); err != nil {
			return err
		}
	}
	return nil
}

func isComment(data []byte) bool {
	return !slices.ContainsFunc(strings.Split(string(data), "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && line != "---" && !strings.HasPrefix(line, "#")
	})
}
