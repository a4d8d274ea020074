package main

import (
	"errors"
	"fmt"
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

	// variableRuntimeImage begins the variables of the operator that name the images of runtimes.
	variableRuntimeImage = "RELATED_IMAGE_RUNTIME_"
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
	// RuntimeImages are the images of the runtime presets, by name. Those whose digests are known are named by these.
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
	if err := nameRuntimeImages(spec, facts.RuntimeImages); err != nil {
		return err
	}
	images := relatedImages(facts)
	annotations[annotationDisconnected] = "true"
	for _, entry := range images {
		if image, _ := entry.(object)["image"].(string); !pinned(image) {
			annotations[annotationDisconnected] = "false" // mirrors are found by digest
		}
	}
	// Whoever has an older version goes to this one in a single step.
	annotations[annotationSkipRange] = ">=0.0.0-0 <" + facts.Version
	delete(spec, "replaces")
	if facts.Previous != "" {
		spec["replaces"] = packageName + ".v" + facts.Previous
	}
	spec["icon"] = []any{object{"base64data": facts.Icon, "mediatype": "image/svg+xml"}}
	spec["relatedImages"] = images
	return nil
}

// nameRuntimeImages tells the operator which images to use for the runtimes, so that they are the related images.
func nameRuntimeImages(spec object, images map[string]string) error {
	deployments := list(at(spec, "install", "spec")["deployments"])
	if len(deployments) != 1 {
		return fmt.Errorf("it has %d deployments, not one", len(deployments))
	}
	containers := list(at(deployments[0], "spec", "template", "spec")["containers"])
	if len(containers) != 1 {
		return fmt.Errorf("its deployment has %d containers, not one", len(containers))
	}
	env, _ := containers[0]["env"].([]any)
	env = slices.DeleteFunc(env, func(entry any) bool {
		variable, _ := entry.(object)
		name, _ := variable["name"].(string)
		return strings.HasPrefix(name, variableRuntimeImage)
	})
	for _, name := range slices.Sorted(maps.Keys(images)) {
		env = append(env, object{"name": variableRuntimeImage + strings.ToUpper(name), "value": images[name]})
	}
	containers[0]["env"] = env
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
