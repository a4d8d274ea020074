package main

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

const (
	annotationCreated      = "createdAt"
	annotationImage        = "containerImage"
	annotationSkipRange    = "olm.skipRange"
	annotationDisconnected = "features.operators.openshift.io/disconnected"

	packageName = "aimodel-operator"
)

// object is a manifest as YAML decodes it.
type object = map[string]any

// facts are what the ClusterServiceVersion has to say and operator-sdk does not write.
type facts struct {
	// Image is the image of the operator.
	Image string
	// Created is the date of the release. operator-sdk writes the present time.
	Created string
	// Version and Previous make the upgrade graph. Previous is empty for the first version.
	Version, Previous string
	// Icon is an SVG image in base64.
	Icon string
	// RuntimeImages are the images of the runtime presets, by name.
	RuntimeImages map[string]string
}

// finish writes the facts into a ClusterServiceVersion.
func finish(csv object, facts facts) error {
	if facts.Image == "" || facts.Created == "" || facts.Version == "" || facts.Icon == "" {
		return errors.New("the image, the date, the version and the icon are needed")
	}
	metadata, spec := at(csv, "metadata"), at(csv, "spec")
	annotations := at(metadata, "annotations")
	if annotations == nil || spec == nil {
		return errors.New("it has no annotations or no spec")
	}
	annotations[annotationCreated] = facts.Created
	annotations[annotationImage] = facts.Image
	annotations[annotationDisconnected] = "false"
	if pinned(facts.Image) {
		annotations[annotationDisconnected] = "true"
	}
	// Whoever has an older version goes to this one in a single step.
	annotations[annotationSkipRange] = ">=0.0.0-0 <" + facts.Version
	delete(spec, "replaces")
	if facts.Previous != "" {
		spec["replaces"] = packageName + ".v" + facts.Previous
	}
	spec["icon"] = []any{object{"base64data": facts.Icon, "mediatype": "image/svg+xml"}}
	spec["relatedImages"] = relatedImages(facts)
	return nil
}

// relatedImages lists every image that an installation may pull, for tools that mirror them.
func relatedImages(facts facts) []any {
	images := []any{object{"name": "manager", "image": facts.Image}}
	for _, name := range slices.Sorted(maps.Keys(facts.RuntimeImages)) {
		images = append(images, object{"name": "runtime-" + name, "image": facts.RuntimeImages[name]})
	}
	return images
}

// pinned says whether an image is named by its digest.
func pinned(image string) bool { return strings.Contains(image, "@sha256:") }

// at follows names into a manifest. It is nil where the manifest has none of them.
func at(in object, names ...string) object {
	for _, name := range names {
		next, ok := in[name].(object)
		if !ok {
			return nil
		}
		in = next
	}
	return in
}
