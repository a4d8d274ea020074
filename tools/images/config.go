package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// config is images.yaml.
type config struct {
	User     string  `yaml:"user"`
	Licenses string  `yaml:"licenses"`
	Images   []image `yaml:"images"`
}

type image struct {
	Name         string            `yaml:"name"`
	Suffix       string            `yaml:"suffix"`
	Title        string            `yaml:"title"`
	Description  string            `yaml:"description"`
	Programs     []program         `yaml:"programs"`
	Files        []copied          `yaml:"files"`
	Certificates bool              `yaml:"certificates"`
	Entrypoint   []string          `yaml:"entrypoint"`
	Labels       map[string]string `yaml:"labels"`
	LabelsFrom   string            `yaml:"labelsFrom"`
	Dockerfile   string            `yaml:"dockerfile"`
}

type program struct {
	Package string `yaml:"package"`
	To      string `yaml:"to"`
}

type copied struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

func readConfig(root, file string) (*config, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(root, file)
	}
	opened, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer opened.Close() //nolint:errcheck // it was only read
	decoder := yaml.NewDecoder(opened)
	decoder.KnownFields(true)
	var c config
	if err := decoder.Decode(&c); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	names := map[string]bool{}
	for i := range c.Images {
		if err := c.Images[i].complete(root); err != nil {
			return nil, fmt.Errorf("%s: image %q: %w", file, c.Images[i].Name, err)
		}
		if names[c.Images[i].Name] {
			return nil, fmt.Errorf("%s: there are two images called %q", file, c.Images[i].Name)
		}
		names[c.Images[i].Name] = true
	}
	return &c, nil
}

// complete checks an entry and adds the labels that stand in another file.
func (i *image) complete(root string) error {
	if i.Name == "" || i.Title == "" || i.Description == "" {
		return fmt.Errorf("name, title and description are required")
	}
	if len(i.Programs)+len(i.Files) == 0 {
		return fmt.Errorf("it has neither programs nor files")
	}
	for _, p := range i.Programs {
		if !path.IsAbs(p.To) {
			return fmt.Errorf("program %s: %q is not an absolute path", p.Package, p.To)
		}
	}
	for _, f := range i.Files {
		if !path.IsAbs(f.To) {
			return fmt.Errorf("files %s: %q is not an absolute path", f.From, f.To)
		}
	}
	if i.LabelsFrom == "" {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(root, i.LabelsFrom))
	if err != nil {
		return err
	}
	var from struct {
		Annotations map[string]string `yaml:"annotations"`
	}
	if err := yaml.Unmarshal(data, &from); err != nil {
		return fmt.Errorf("read %s: %w", i.LabelsFrom, err)
	}
	if len(from.Annotations) == 0 {
		return fmt.Errorf("%s has no annotations", i.LabelsFrom)
	}
	if i.Labels == nil {
		i.Labels = map[string]string{}
	}
	for name, value := range from.Annotations {
		if _, set := i.Labels[name]; !set {
			i.Labels[name] = value
		}
	}
	return nil
}

// named returns the images of these names, or all of them for none.
func (c *config) named(names []string) ([]image, error) {
	if len(names) == 0 {
		return c.Images, nil
	}
	var found []image
	for _, name := range names {
		at := slices.IndexFunc(c.Images, func(i image) bool { return i.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("there is no image %q", name)
		}
		found = append(found, c.Images[at])
	}
	return found, nil
}
