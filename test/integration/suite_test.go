// Package integration runs the operator, set up as the binary sets it up, against a real API server with its controllers, and
// checks what a user would see. Pods are simulated: nothing here depends on what runs in a container.
//
// In the cluster of KUBECONFIG they can be run with the permissions of an installation for all namespaces, however it got there:
//
//   - INTEGRATION_OPERATOR=running runs the specs that start no operator of their own with the one that works there.
//   - INTEGRATION_ACCOUNT=FILE, a kubeconfig of that operator's account, gives its permissions to the operators that specs start.
//     The installed one must not run. -ginkgo.label-filter=starts-operators leaves out the other specs.
package integration

import (
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	"github.com/aimodel-operator/aimodel-operator/internal/setup"
	"github.com/aimodel-operator/aimodel-operator/test/cluster"
)

// How long the specs wait. Whatever takes moments is given far more, so that a busy machine breaks nothing.
const (
	soon = 30 * time.Second
	// healing is for what the operator looks at again only after a while, because no watch tells of it.
	healing = time.Minute
	// steady is how long nothing may happen for it to count as nothing.
	steady = 8 * time.Second
	poll   = 100 * time.Millisecond
)

var (
	suiteCtx, endSuite = context.WithCancel(context.Background())

	kube *cluster.Cluster
	// k8s is an administrator's client without a cache.
	k8s client.Client
	// simulated says whether the nodes make pods Ready, or fail, as the pods' annotations ask.
	simulated bool
)

func TestIntegration(t *testing.T) {
	tests = t
	RegisterFailHandler(ginkgo.Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(poll)
	SetDefaultConsistentlyDuration(steady)
	SetDefaultConsistentlyPollingInterval(poll)
	ginkgo.RunSpecs(t, "Integration")
}

var _ = ginkgo.BeforeSuite(func() {
	logger := logr.Discard()
	if os.Getenv("OPERATOR_LOG") != "" {
		logger = zap.New(zap.UseDevMode(true), zap.WriteTo(ginkgo.GinkgoWriter))
	}
	ctrl.SetLogger(logger)
	klog.SetLogger(logr.Discard())

	ginkgo.DeferCleanup(endSuite)

	var err error
	kube, err = cluster.Start(suiteCtx, cluster.Options{
		Nodes:    []string{"name=h100,count=2,gpus=8,product=NVIDIA-H100-80GB-HBM3,memory=80Gi"},
		AuditLog: true,
		Args:     []string{"--controller-manager-arg=--horizontal-pod-autoscaler-sync-period=2s"},
		Progress: io.Discard,
	})
	Expect(err).NotTo(HaveOccurred())
	ginkgo.DeferCleanup(func() { Expect(kube.Stop()).To(Succeed()) })

	scheme, err := setup.Scheme()
	Expect(err).NotTo(HaveOccurred())
	k8s, err = client.New(kube.Config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())

	nodes := &corev1.NodeList{}
	Expect(k8s.List(suiteCtx, nodes, client.MatchingLabels{"type": "kwok"})).To(Succeed())
	simulated = len(nodes.Items) > 0

	if !preinstalled {
		installCRDs()
	}
	if !external {
		shared = newOperator(operatorSettings{})
		ginkgo.DeferCleanup(func() { shared.stop() })
	}
})

// installCRDs installs the definitions. On a cluster that is not the suite's own they are removed at the end, if they were
// not there before.
func installCRDs() {
	for _, file := range crdFiles() {
		crd := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal(readFile(file), &crd.Object)).To(Succeed())
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(crd.GroupVersionKind())
		err := k8s.Get(suiteCtx, client.ObjectKeyFromObject(crd), found)
		Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
		if apierrors.IsNotFound(err) && !kube.Local {
			ginkgo.DeferCleanup(func() { Expect(k8s.Delete(suiteCtx, crd)).To(Succeed()) })
		}
		Expect(k8s.Apply(suiteCtx, client.ApplyConfigurationFromUnstructured(crd), client.FieldOwner("integration"),
			client.ForceOwnership)).To(Succeed())
	}
}

func crdFiles() []string {
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	Expect(err).NotTo(HaveOccurred())
	Expect(files).To(HaveLen(3))
	return files
}

func readFile(path string) []byte {
	ginkgo.GinkgoHelper()
	data, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	return data
}

// needSimulatedPods skips a spec whose pods would have to become Ready, or to fail, on a cluster that cannot do that without
// an image.
func needSimulatedPods() {
	if !simulated {
		ginkgo.Skip("SKIPPED: the nodes of this cluster are real, and the spec needs simulated ones: unset KUBECONFIG, or use `make localkube-up`")
	}
}

// needNearAPIServer skips a spec in which the API server asks a server of this process.
func needNearAPIServer() {
	ginkgo.GinkgoHelper()
	target, err := url.Parse(kube.Config.Host)
	Expect(err).NotTo(HaveOccurred())
	if address := net.ParseIP(target.Hostname()); !address.IsLoopback() {
		ginkgo.Skip("SKIPPED: the API server of another machine cannot reach a server of this process: unset KUBECONFIG")
	}
}

// newNamespace gives a spec a namespace of its own. What is in it goes when the spec ends.
func newNamespace() string {
	ginkgo.GinkgoHelper()
	return newNamespaceNamed("it-")
}

// newNamespaceNamed does the same with a name that begins so.
func newNamespaceNamed(prefix string) string {
	ginkgo.GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	Expect(k8s.Create(suiteCtx, namespace)).To(Succeed())
	used = append(used, namespace.Name)
	ginkgo.DeferCleanup(func() {
		// The owners go first: the operator would make their children anew.
		for _, kind := range primaries() {
			Expect(k8s.DeleteAllOf(suiteCtx, kind, client.InNamespace(namespace.Name))).To(Succeed())
		}
		Expect(client.IgnoreNotFound(k8s.Delete(suiteCtx, namespace))).To(Succeed())
	})
	return namespace.Name
}
