package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// samples are the AIModels that a bundle shows users.
type samples []aiv1.AIModel

// readSamples reads them from the ClusterServiceVersion in the folder of a bundle.
func readSamples(folder string) (samples, error) {
	files, err := filepath.Glob(filepath.Join(folder, "manifests", "*.clusterserviceversion.yaml"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("%s/manifests must hold one ClusterServiceVersion and holds %d", folder, len(files))
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return nil, fmt.Errorf("read the bundle: %w", err)
	}
	var csv struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := yaml.Unmarshal(data, &csv); err != nil {
		return nil, fmt.Errorf("read %s: %w", files[0], err)
	}
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(csv.Metadata.Annotations["alm-examples"]), &all); err != nil {
		return nil, fmt.Errorf("read the alm-examples of %s: %w", files[0], err)
	}
	var found samples
	for _, raw := range all {
		var model aiv1.AIModel
		if err := json.Unmarshal(raw, &model); err != nil {
			return nil, fmt.Errorf("read the alm-examples of %s: %w", files[0], err)
		}
		if model.Kind == "AIModel" {
			found = append(found, model)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the alm-examples of %s hold no AIModel", files[0])
	}
	return found, nil
}

// served is a sample that runs pods.
func (s samples) served() (*aiv1.AIModel, error) {
	for i := range s {
		if s[i].Spec.Image != "" {
			return s[i].DeepCopy(), nil
		}
	}
	return nil, errors.New("no sample AIModel of the bundle has an image")
}
