package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkDescriptors compares the descriptors that a ClusterServiceVersion has for a definition with its schema: each must
// describe a field that exists, and each field of spec must be described.
func checkDescriptors(csv, definition object) []error {
	name, _ := at(definition, "metadata")["name"].(string)
	var problems []error
	for _, version := range list(at(definition, "spec")["versions"]) {
		versionName, _ := version["name"].(string)
		owned := find(csv, name, versionName)
		if owned == nil {
			problems = append(problems, fmt.Errorf("%s, %s: it is not among the owned definitions", name, versionName))
			continue
		}
		schema := at(version, "schema", "openAPIV3Schema", "properties")
		for _, part := range []string{"spec", "status"} {
			described := map[string]bool{}
			for _, descriptor := range list(owned[part+"Descriptors"]) {
				path, _ := descriptor["path"].(string)
				described[path] = true
				if !hasField(at(schema, part), path) {
					problems = append(problems, fmt.Errorf("%s, %s: a descriptor speaks of %s.%s, which does not exist", name, versionName, part, path))
				}
			}
			if part == "status" {
				continue // much of it is for machines
			}
			for _, field := range slices.Sorted(maps.Keys(at(schema, part, "properties"))) {
				if !described[field] {
					problems = append(problems, fmt.Errorf("%s, %s: %s.%s has no descriptor", name, versionName, part, field))
				}
			}
		}
	}
	return problems
}

// find returns what the ClusterServiceVersion says of one version of a definition.
func find(csv object, name, version string) object {
	for _, owned := range list(at(csv, "spec", "customresourcedefinitions")["owned"]) {
		if owned["name"] == name && owned["version"] == version {
			return owned
		}
	}
	return nil
}

// hasField says whether a schema has a field at a path such as source.uri.
func hasField(schema object, path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		schema = at(schema, "properties", name)
		if schema == nil {
			return false
		}
	}
	return true
}

func list(from any) []object {
	entries, _ := from.([]any)
	objects := make([]object, 0, len(entries))
	for _, entry := range entries {
		if o, ok := entry.(object); ok {
			objects = append(objects, o)
		}
	}
	return objects
}
