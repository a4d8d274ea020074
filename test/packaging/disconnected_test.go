package packaging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"sigs.k8s.io/yaml"
)

const csvFile = "bundle/manifests/aimodel-operator.clusterserviceversion.yaml"

// presetImages are the images that the runtimes use by default.
func presetImages(t *testing.T) []registry.Reference {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "helm-charts/model-server/presets/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var images []registry.Reference
	for _, file := range files {
		var preset struct{ Values struct{ Image string } }
		if err := yaml.Unmarshal([]byte(read(t, file)), &preset); err != nil {
			t.Fatal(err)
		}
		if preset.Values.Image == "" {
			continue
		}
		image, err := registry.ParseReference(preset.Values.Image)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, image)
	}
	if len(images) == 0 {
		t.Fatal("no preset has an image")
	}
	return images
}

// pushRuntimeImages puts something into a mirror where the images of the runtimes would be, and returns the digests by name.
func pushRuntimeImages(t *testing.T, mirror string) map[string]string {
	t.Helper()
	pushed := map[string]string{}
	for _, image := range presetImages(t) {
		there := image
		there.Registry = mirror
		repository := &remote.Repository{Reference: there, PlainHTTP: true}
		packed, err := oras.PackManifest(t.Context(), repository, oras.PackManifestVersion1_1, "application/vnd.example.runtime", oras.PackManifestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := repository.Tag(t.Context(), packed, image.Reference); err != nil {
			t.Fatal(err)
		}
		pushed[image.Registry+"/"+image.Repository] = packed.Digest.String()
	}
	return pushed
}

// bundleOf is what a ClusterServiceVersion says of images.
type bundleOf struct {
	Metadata struct{ Annotations map[string]string }
	Spec     struct {
		RelatedImages []struct{ Name, Image string }
		Install       struct {
			Spec struct {
				Deployments []struct {
					Spec struct {
						Template struct {
							Spec struct {
								Containers []struct {
									Image string
									Env   []struct{ Name, Value string }
								}
							}
						}
					}
				}
			}
		}
	}
}

// TestTheBundleOfAReleaseNamesDigestsOnly makes the bundle as a release does, with the images of the runtimes in a registry on
// this machine.
func TestTheBundleOfAReleaseNamesDigestsOnly(t *testing.T) {
	for _, tool := range []string{"operator-sdk", "kustomize", "controller-gen"} {
		if _, err := os.Stat(filepath.Join(root, "bin", tool)); err != nil {
			t.Skipf("SKIPPED: bin/%s is not built: `make bundle` builds what it needs", tool)
		}
	}
	mirror := startRegistry(t)
	if mirror == "" {
		t.Skip("SKIPPED: docker-registry is not installed")
	}
	pushed := pushRuntimeImages(t, mirror)
	folder, _ := repository(t)
	const manager = "registry.example.com/team/op@sha256:2222222222222222222222222222222222222222222222222222222222222222"
	if out, err := shell(t, folder, nil, "make", "pin-images", "IMAGE_MIRROR="+mirror); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must(t, folder, "make", "bundle", "IMG="+manager)
	var csv bundleOf
	if err := yaml.Unmarshal([]byte(read(t, folder, csvFile)), &csv); err != nil {
		t.Fatal(err)
	}
	if got := csv.Metadata.Annotations["features.operators.openshift.io/disconnected"]; got != "true" {
		t.Errorf("disconnected is %q", got)
	}
	// What runs is what is mirrored, and nothing else.
	container := csv.Spec.Install.Spec.Deployments[0].Spec.Template.Spec.Containers[0]
	running := map[string]bool{container.Image: true}
	for _, variable := range container.Env {
		if strings.HasPrefix(variable.Name, "RELATED_IMAGE_") {
			running[variable.Value] = true
		}
	}
	if len(csv.Spec.RelatedImages) != 1+len(pushed) || len(running) != len(csv.Spec.RelatedImages) {
		t.Errorf("related images %v, but what runs is %v", csv.Spec.RelatedImages, running)
	}
	for _, related := range csv.Spec.RelatedImages {
		name, digest, _ := strings.Cut(related.Image, "@")
		if !running[related.Image] || related.Image != manager && digest != pushed[name] {
			t.Errorf("%s is %s: it does not run, or it is not the digest of the registry, %s", related.Name, related.Image, pushed[name])
		}
	}

	// Another push under the same tag changes nothing for a version that names it already.
	before := read(t, folder, "config/manifests/image-digests.txt")
	must(t, folder, "make", "pin-images", "IMAGE_MIRROR=127.0.0.1:1")
	if after := read(t, folder, "config/manifests/image-digests.txt"); after != before {
		t.Errorf("the digests are now\n%s", after)
	}
}
