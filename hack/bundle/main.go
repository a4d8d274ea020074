// Command bundle finishes what operator-sdk generated: it writes into the ClusterServiceVersion what operator-sdk cannot
// know or makes different on each run, and checks what a console would show against the definitions. Run it by `make bundle`.
//
// Its command `pin` asks registries for the digests of the images that the runtimes use, and keeps them in a file that the other
// reads. Run it by `make pin-images`.
package main

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

func main() {
	do, args := run, os.Args[1:]
	if len(args) > 0 && args[0] == "pin" {
		do, args = pin, args[1:]
	}
	if err := do(args); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

const (
	presetsFolder = "helm-charts/model-server/presets"
	digestsFile   = "config/manifests/image-digests.txt"
)

func run(args []string) error {
	flags := flag.NewFlagSet("bundle", flag.ContinueOnError)
	manifests := flags.String("manifests", "bundle/manifests", "`folder` with the generated manifests, which are changed in place")
	icon := flags.String("icon", "config/manifests/icon.svg", "SVG `file` that consoles show")
	presets := flags.String("presets", presetsFolder, "`folder` of the runtime presets, for their images")
	digests := flags.String("digests", digestsFile, "`file` with the digests of these images")
	var facts facts
	flags.StringVar(&facts.Image, "image", "", "`image` of the operator")
	flags.StringVar(&facts.Created, "created", "", "`date` of the release")
	flags.StringVar(&facts.Version, "version", "", "`version` of the bundle")
	flags.StringVar(&facts.Previous, "previous", "", "`version` that this one replaces; empty for the first")
	if err := flags.Parse(args); err != nil {
		return err
	}
	svg, err := os.ReadFile(*icon)
	if err != nil {
		return fmt.Errorf("read the icon: %w", err)
	}
	facts.Icon = base64.StdEncoding.EncodeToString(svg)
	if facts.RuntimeImages, err = runtimeImages(*presets); err != nil {
		return err
	}
	known, err := readDigests(*digests)
	if err != nil {
		return err
	}
	for name, image := range facts.RuntimeImages {
		facts.RuntimeImages[name] = known.apply(image)
	}
	return finishFolder(*manifests, facts)
}

// finishFolder finishes the ClusterServiceVersion of a folder, and checks it.
func finishFolder(folder string, facts facts) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.clusterserviceversion.yaml"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("%s has %d ClusterServiceVersions, not one", folder, len(files))
	}
	csv, err := readObject(files[0])
	if err != nil {
		return err
	}
	if err := finish(csv, facts); err != nil {
		return fmt.Errorf("finish %s: %w", files[0], err)
	}
	if err := checkFolder(folder, csv); err != nil {
		return err
	}
	data, err := yaml.Marshal(csv)
	if err != nil {
		return fmt.Errorf("encode %s: %w", files[0], err)
	}
	return os.WriteFile(files[0], data, 0o644)
}

// checkFolder compares what the ClusterServiceVersion tells of each definition with that definition.
func checkFolder(folder string, csv object) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	var problems []error
	for _, file := range files {
		definition, err := readObject(file)
		if err != nil {
			return err
		}
		if definition["kind"] == "CustomResourceDefinition" {
			problems = append(problems, checkDescriptors(csv, definition)...)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("mend config/manifests/bases/*.clusterserviceversion.yaml:\n%w", errors.Join(problems...))
	}
	return nil
}

// runtimeImages reads the image of each preset that has one, by the name of the preset.
func runtimeImages(folder string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no presets in %s", folder)
	}
	images := map[string]string{}
	for _, file := range files {
		preset, err := readObject(file)
		if err != nil {
			return nil, err
		}
		if image, ok := at(preset, "values")["image"].(string); ok && image != "" {
			images[strings.TrimSuffix(filepath.Base(file), ".yaml")] = image
		}
	}
	return images, nil
}

func readObject(file string) (object, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	content := object{}
	if err := yaml.Unmarshal(data, &content); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return content, nil
}
