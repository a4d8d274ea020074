package olm

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const (
	packageName = "aimodel-operator"
	catalog     = "models"

	// first is the version of the oldest installation. It is below every release, as is second, which stands for the version
	// before the bundle under test where that replaces none.
	first, second = "0.0.1", "0.0.2"
)

// bundle is a folder with manifests and metadata, and what they say.
type bundle struct {
	folder, name, version string
	// channels are those that it is for, the default one first.
	channels []string
}

// makeBundles makes the bundles of three versions, each of which replaces the one before it. The last is the bundle under test. The
// others are the same under other numbers: what differs between versions is tested elsewhere.
func makeBundles() {
	ginkgo.GinkgoHelper()
	folder := os.Getenv("OLM_BUNDLE")
	if folder == "" {
		folder = "../../bundle"
	}
	given := readBundle(folder)
	replaced := second
	if name := text(decode(csvFile(folder))[0], "spec", "replaces"); name != "" {
		replaced = strings.TrimPrefix(name, packageName+".v")
	}
	oldest = versionOf(given, first, "")
	previous = versionOf(given, replaced, oldest.name)
	current = versionOf(given, given.version, previous.name)
}

func readBundle(folder string) bundle {
	ginkgo.GinkgoHelper()
	csv := decode(csvFile(folder))[0]
	version := text(csv, "spec", "version")
	Expect(csv.GetName()).To(Equal(packageName + ".v" + version))
	metadata := decode(filepath.Join(folder, "metadata", "annotations.yaml"))[0]
	annotation := func(name string) string {
		return text(metadata, "annotations", "operators.operatorframework.io.bundle."+name)
	}
	channels := []string{annotation("channel.default.v1")}
	for _, channel := range strings.Split(annotation("channels.v1"), ",") {
		if channel != channels[0] {
			channels = append(channels, channel)
		}
	}
	return bundle{folder: folder, name: csv.GetName(), version: version, channels: channels}
}

// versionOf is a bundle as another version.
func versionOf(b bundle, version, replaces string) bundle {
	ginkgo.GinkgoHelper()
	folder := filepath.Join(scratch, "bundle-"+version)
	Expect(os.CopyFS(folder, os.DirFS(b.folder))).To(Succeed())
	file := csvFile(folder)
	csv := decode(file)[0]
	csv.SetName(packageName + ".v" + version)
	Expect(unstructured.SetNestedField(csv.Object, version, "spec", "version")).To(Succeed())
	unstructured.RemoveNestedField(csv.Object, "spec", "replaces")
	if replaces != "" {
		Expect(unstructured.SetNestedField(csv.Object, replaces, "spec", "replaces")).To(Succeed())
	}
	data, err := yaml.Marshal(csv.Object)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(file, data, 0o600)).To(Succeed())
	return readBundle(folder)
}

func csvFile(folder string) string {
	ginkgo.GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(folder, "manifests", "*.clusterserviceversion.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).To(HaveLen(1))
	return files[0]
}

// publish shows the cluster the catalog that a release of the bundle ships, in the place of the one that was there. It is made by
// the script that makes it for a release, so the way from one version to another is the one that users go. The objects of the
// bundle stand in it, so that no image has to be pulled and no pod has to unpack it.
func publish(b bundle) {
	ginkgo.GinkgoHelper()
	folder := filepath.Join(scratch, "catalog-"+b.version)
	output, err := exec.CommandContext(suiteCtx, "../../hack/catalog.sh", "inline", b.folder, folder).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))

	address := freeAddress()
	_, port, err := net.SplitHostPort(address)
	Expect(err).NotTo(HaveOccurred())
	server := run("opm", nil, "serve", folder, "--port", port, "--pprof-addr", "",
		"--cache-dir", filepath.Join(scratch, "cache-"+port), "--cache-enforce-integrity=false")

	source := lifecycleObject("CatalogSource", olmNamespace, catalog)
	source.Object["spec"] = map[string]any{"sourceType": "grpc", "address": address, "displayName": "Models", "publisher": "The tests"}
	if err := k8s.Create(suiteCtx, source.DeepCopy()); !apierrors.IsAlreadyExists(err) {
		Expect(err).NotTo(HaveOccurred())
	}
	edit(source, func() { Expect(unstructured.SetNestedField(source.Object, address, "spec", "address")).To(Succeed()) })
	Eventually(func(g Gomega) {
		if err := server.Running(); err != nil {
			ginkgo.Fail(err.Error())
		}
		g.Expect(refresh(source)).To(Succeed())
		g.Expect(text(source, "status", "connectionState", "address")).To(Equal(address))
		g.Expect(text(source, "status", "connectionState", "lastObservedState")).To(Equal("READY"))
	}).WithTimeout(managed).Should(Succeed())
}
