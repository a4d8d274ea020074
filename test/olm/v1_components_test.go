package olm

import (
	"encoding/base64"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/cert"
)

// v1Namespace is that of OLM v1's own components.
const v1Namespace = "olmv1-system"

// startLifecycleManagerV1 installs the definitions, accounts and permissions of OLM v1, and runs its two components under these accounts.
// They take images from a registry without TLS.
func startLifecycleManagerV1(r *registry) {
	ginkgo.GinkgoHelper()
	folder := filepath.Join(scratch, "v1")
	authorities := filepath.Join(folder, "authorities")
	// Where they look for the settings of registries, before those of the machine.
	settings := filepath.Join(folder, ".config", "containers")
	temporary := filepath.Join(folder, "tmp")
	for _, folder := range []string{authorities, settings, temporary} {
		Expect(os.MkdirAll(folder, 0o700)).To(Succeed())
	}
	address, _, _ := strings.Cut(r.base, "/")
	write(filepath.Join(settings, "registries.conf"), "[[registry]]\nlocation = \""+address+"\"\ninsecure = true\n")
	write(filepath.Join(settings, "policy.json"), `{"default": [{"type": "insecureAcceptAnything"}]}`)
	environment := []string{"HOME=" + folder, "TMPDIR=" + temporary}

	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	Expect(err).NotTo(HaveOccurred())
	certificateFile, keyFile := filepath.Join(authorities, "tls.crt"), filepath.Join(folder, "tls.key")
	write(certificateFile, string(certificate))
	write(keyFile, string(key))

	// catalogd cannot be told the address of its webhook, only the port: it is the one server here that listens beyond this machine.
	webhook := freeAddress()
	installLifecycleManagerV1("https://"+webhook, certificate)
	_, port, err := net.SplitHostPort(webhook)
	Expect(err).NotTo(HaveOccurred())
	content, probes := freeAddress(), freeAddress()
	start := func(program string, args ...string) {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1Namespace, Name: program + "-controller-manager"}}
		p := runAs(account, program, environment, args...)
		ginkgo.DeferCleanup(func() { _ = p.Stop(ending) }) // how the tools end is nothing that is tested here
		expectProbe(p, probes)
		probes = freeAddress()
	}
	start("catalogd", "--health-probe-bind-address", probes, "--metrics-bind-address", freeAddress(), "--webhook-server-port", port,
		"--catalogs-server-addr", content, "--external-address", content, "--tls-cert", certificateFile, "--tls-key", keyFile,
		"--cache-dir", filepath.Join(folder, "catalogs"))
	start("operator-controller", "--health-probe-bind-address", probes, "--catalogd-cas-dir", authorities,
		"--cache-path", filepath.Join(folder, "bundles"))
}

// installLifecycleManagerV1 applies what OLM v1's own manifest has, but for what makes pods and reaches them: both components run on
// this machine, where the API server finds the webhook of one of them.
func installLifecycleManagerV1(webhook string, certificate []byte) {
	ginkgo.GinkgoHelper()
	kinds := []string{"Namespace", "CustomResourceDefinition", "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding",
		"MutatingWebhookConfiguration"}
	manifest := filepath.Join(moduleFolder("operator-controller", "github.com/operator-framework/operator-controller"), "manifests", "standard.yaml")
	for _, object := range decode(manifest) {
		if !slices.Contains(kinds, object.GetKind()) {
			continue
		}
		if object.GetKind() == "MutatingWebhookConfiguration" {
			webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
			Expect(err).NotTo(HaveOccurred())
			Expect(webhooks).To(HaveLen(1))
			only, ok := webhooks[0].(map[string]any)
			Expect(ok).To(BeTrue())
			path, _, err := unstructured.NestedString(only, "clientConfig", "service", "path")
			Expect(err).NotTo(HaveOccurred())
			only["clientConfig"] = map[string]any{"url": webhook + path, "caBundle": base64.StdEncoding.EncodeToString(certificate)}
			Expect(unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")).To(Succeed())
		}
		create(object)
		ginkgo.DeferCleanup(func() { remove(object) })
	}
	for _, kind := range []string{"ClusterCatalog", "ClusterExtension"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1Object(kind).GroupVersionKind())
		Eventually(func() error { return k8s.List(suiteCtx, list) }).Should(Succeed())
	}
}

// moduleFolder is where the files of a Go module are that a tool is built of.
func moduleFolder(tool, module string) string {
	ginkgo.GinkgoHelper()
	command := exec.CommandContext(suiteCtx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Dir = filepath.Join("../../tools", tool)
	command.Env = append(os.Environ(), "GOWORK=off")
	folder, err := command.Output()
	Expect(err).NotTo(HaveOccurred())
	return strings.TrimSpace(string(folder))
}

func write(file, text string) {
	ginkgo.GinkgoHelper()
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
}
