package main

import (
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// definition is what the page needs of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
			Categories []string `json:"categories"`
		} `json:"names"`
		Versions []version `json:"versions"`
	} `json:"spec"`
}

type version struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Columns []struct {
		Name     string `json:"name"`
		JSONPath string `json:"jsonPath"`
		Priority int    `json:"priority"`
	} `json:"additionalPrinterColumns"`
	Subresources struct {
		Scale *struct {
			SpecPath     string `json:"specReplicasPath"`
			StatusPath   string `json:"statusReplicasPath"`
			SelectorPath string `json:"labelSelectorPath"`
		} `json:"scale"`
	} `json:"subresources"`
	Schema struct {
		OpenAPI schema `json:"openAPIV3Schema"`
	} `json:"schema"`
}

// schema is what the page tells of a structural schema.
type schema struct {
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Format      string            `json:"format"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Required    []string          `json:"required"`
	Default     any               `json:"default"`
	Enum        []any             `json:"enum"`
	Pattern     string            `json:"pattern"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
	MinLength   *int64            `json:"minLength"`
	MaxLength   *int64            `json:"maxLength"`
	MinItems    *int64            `json:"minItems"`
	MaxItems    *int64            `json:"maxItems"`
	MaxProps    *int64            `json:"maxProperties"`
	IntOrString bool              `json:"x-kubernetes-int-or-string"`
	AnyFields   bool              `json:"x-kubernetes-preserve-unknown-fields"`
	ListType    string            `json:"x-kubernetes-list-type"`
	ListMapKeys []string          `json:"x-kubernetes-list-map-keys"`
	Rules       []struct {
		Rule      string `json:"rule"`
		Message   string `json:"message"`
		FieldPath string `json:"fieldPath"`
	} `json:"x-kubernetes-validations"`
}

func readDefinition(file string) (definition, error) {
	var d definition
	data, err := os.ReadFile(file)
	if err != nil {
		return d, fmt.Errorf("read a definition: %w", err)
	}
	if err := yaml.Unmarshal(data, &d); err != nil {
		return d, fmt.Errorf("read definition %s: %w", file, err)
	}
	if d.Spec.Names.Kind == "" || len(d.Spec.Versions) == 0 {
		return d, fmt.Errorf("%s is not a CustomResourceDefinition", file)
	}
	return d, nil
}
