package olm

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/aimodel-operator/aimodel-operator/test/process"
)

const (
	packageName = "aimodel-operator"
	channel     = "stable"
	// earlier is the version that the upgrade starts from. It is below every release.
	earlier = "0.0.1"
	catalog = "models"
)

// bundle is a folder with manifests and metadata, and the name and version of its ClusterServiceVersion.
type bundle struct{ folder, name, version string }

// currentBundle is the bundle under test.
func currentBundle() bundle {
	ginkgo.GinkgoHelper()
	folder := os.Getenv("OLM_BUNDLE")
	if folder == "" {
		folder = "../../bundle"
	}
	return readBundle(folder)
}

func readBundle(folder string) bundle {
	ginkgo.GinkgoHelper()
	csv := decode(csvFile(folder))[0]
	version, _, _ := unstructured.NestedString(csv.Object, "spec", "version")
	Expect(csv.GetName()).To(Equal(packageName + ".v" + version))
	return bundle{folder: folder, name: csv.GetName(), version: version}
}

func csvFile(folder string) string {
	ginkgo.GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(folder, "manifests", "*.clusterserviceversion.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).To(HaveLen(1))
	return files[0]
}

// earlierBundle is the bundle under test under an earlier version: same sources, other name.
func earlierBundle(current bundle) bundle {
	ginkgo.GinkgoHelper()
	folder := filepath.Join(ginkgo.GinkgoT().TempDir(), "bundle")
	Expect(os.CopyFS(folder, os.DirFS(current.folder))).To(Succeed())
	file := csvFile(folder)
	csv := decode(file)[0]
	csv.SetName(packageName + ".v" + earlier)
	Expect(unstructured.SetNestedField(csv.Object, earlier, "spec", "version")).To(Succeed())
	for _, field := range []string{"replaces", "skips", "skipRange"} {
		unstructured.RemoveNestedField(csv.Object, "spec", field)
	}
	data, err := yaml.Marshal(csv.Object)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(file, data, 0o600)).To(Succeed())
	return readBundle(folder)
}

// serveCatalog serves bundles, each of which replaces the one before it, as a catalog of the cluster.
func serveCatalog(bundles ...bundle) {
	ginkgo.GinkgoHelper()
	opm, err := process.Binary("opm")
	Expect(err).NotTo(HaveOccurred())
	entries := make([]any, 0, len(bundles))
	content := &strings.Builder{}
	for i, b := range bundles {
		entry := map[string]any{"name": b.name}
		if i > 0 {
			entry["replaces"] = bundles[i-1].name
		}
		entries = append(entries, entry)
		// A folder, unlike an image, is rendered with its objects inside, so that no pod has to unpack it.
		command := exec.CommandContext(suiteCtx, opm, "render", b.folder, "-o", "yaml")
		command.Stderr = ginkgo.GinkgoWriter
		rendered, err := command.Output()
		Expect(err).NotTo(HaveOccurred())
		content.WriteString("---\n" + strings.TrimPrefix(string(rendered), "---\n"))
	}
	for _, blob := range []map[string]any{
		{"schema": "olm.package", "name": packageName, "defaultChannel": channel},
		{"schema": "olm.channel", "package": packageName, "name": channel, "entries": entries},
	} {
		data, err := yaml.Marshal(blob)
		Expect(err).NotTo(HaveOccurred())
		content.WriteString("---\n" + string(data))
	}
	folder := filepath.Join(ginkgo.GinkgoT().TempDir(), "catalog")
	Expect(os.MkdirAll(folder, 0o700)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(folder, "catalog.yaml"), []byte(content.String()), 0o600)).To(Succeed())

	address, err := process.FreeAddress(suiteCtx)
	Expect(err).NotTo(HaveOccurred())
	_, port, err := net.SplitHostPort(address)
	Expect(err).NotTo(HaveOccurred())
	server := run("opm", nil, "serve", folder, "--port", port, "--pprof-addr", "",
		"--cache-dir", filepath.Join(ginkgo.GinkgoT().TempDir(), "cache"), "--cache-enforce-integrity=false")

	source := lifecycleObject("CatalogSource", olmNamespace, catalog)
	source.Object["spec"] = map[string]any{"sourceType": "grpc", "address": address, "displayName": "Models", "publisher": "The tests"}
	create(source)
	Eventually(func(g Gomega) {
		if err := server.Running(); err != nil {
			ginkgo.Fail(err.Error())
		}
		g.Expect(refresh(source)).To(Succeed())
		g.Expect(text(source, "status", "connectionState", "lastObservedState")).To(Equal("READY"))
	}).WithTimeout(managed).Should(Succeed())
}
