package olm

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/aimodel-operator/aimodel-operator/test/process"
)

// registry is a container registry on this machine, to which the images of a version are pushed.
type registry struct {
	// base is what the names of all images begin with.
	base string
	// manager is the image of the operator, by its digest.
	manager string
}

// startRegistry starts Debian's docker-registry, with the operator's image in it. Where that is not installed the specs are skipped.
func startRegistry() *registry {
	ginkgo.GinkgoHelper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		ginkgo.Skip("SKIPPED, ALL OF OLM v1: its images need a registry on this machine; on Debian: apt-get install docker-registry")
	}
	address := freeAddress()
	file := filepath.Join(scratch, "registry.yaml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: warn}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: %s}\n",
		filepath.Join(scratch, "registry"), address)
	write(file, text)
	server, err := process.Start(filepath.Join(logs, "registry.log"), nil, program, "serve", file)
	Expect(err).NotTo(HaveOccurred())
	ginkgo.DeferCleanup(func() { _ = server.Stop(ending) }) // how it ends is nothing that is tested here
	Eventually(func() (int, error) { return get("http://"+address+"/v2/", "") }).Should(Equal(http.StatusOK))

	r := &registry{base: address + "/aimodel-operator"}
	r.manager = r.base + "@" + r.push("../..", current.version, "manager")
	return r
}

// push builds an image from the files below a folder, as `make images` does, pushes it and returns its digest.
func (r *registry) push(root, version, image string) string {
	ginkgo.GinkgoHelper()
	program, err := process.Binary("images")
	Expect(err).NotTo(HaveOccurred(), "the make target of these tests builds what they need")
	configuration, err := filepath.Abs("../../tools/images/images.yaml")
	Expect(err).NotTo(HaveOccurred())
	digest := ""
	for _, command := range []string{"build", "push"} {
		output, err := exec.CommandContext(suiteCtx, program, command, "-root", root, "-config", configuration,
			"-out", filepath.Join(scratch, "images-"+version), "-base", r.base, "-version", version,
			"-platforms", "linux/"+runtime.GOARCH, image).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
		_, digest, _ = strings.Cut(strings.TrimSpace(string(output)), "@")
	}
	return digest
}

// release pushes the images of a version: its bundle, which names the operator's image by digest, and the catalog, which names that
// of the bundle so.
func (r *registry) release(b bundle) {
	ginkgo.GinkgoHelper()
	root := filepath.Join(scratch, "release-"+b.version)
	folder := filepath.Join(root, "bundle")
	Expect(os.CopyFS(folder, os.DirFS(b.folder))).To(Succeed())
	file := csvFile(folder)
	named, ok := decode(file)[0].GetAnnotations()["containerImage"]
	Expect(ok).To(BeTrue())
	manifest, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	write(file, strings.ReplaceAll(string(manifest), named, r.manager))

	image := r.base + "-bundle@" + r.push(root, b.version, "bundle")
	output, err := exec.CommandContext(suiteCtx, "../../hack/catalog.sh", image, folder, filepath.Join(root, "dist", "catalog")).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	r.push(root, b.version, "catalog")
}
