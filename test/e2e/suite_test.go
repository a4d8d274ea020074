// Package e2e runs the operator's binary against a cluster on which containers really run, and uses it as a user would:
// objects go in, and what counts is what status says and what the served model answers. Requests reach the model through
// the API server's service proxy only. Without such a cluster the suite is skipped, and says why.
//
// Settings, as environment variables: KUBECONFIG names a cluster to use instead of an own one; E2E_IMAGE is then an image of
// test/modelserver that its nodes can pull. E2E_REAL_NODE=on fails where containers cannot run, and off skips the suite.
// E2E_DIR is the folder of the own cluster.
package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
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
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/aimodel-operator/aimodel-operator/internal/setup"
	"github.com/aimodel-operator/aimodel-operator/test/cluster"
)

const (
	// soon is for what the API server and its controllers do by themselves.
	soon = 30 * time.Second
	// starting is for what has to wait for containers to start and end. A busy machine needs a multiple of an idle one.
	starting = 2 * time.Minute
	poll     = 200 * time.Millisecond

	// nodeGPUs is what the real node pretends to have. No other node has any.
	nodeGPUs = 8
	gpu      = "nvidia.com/gpu"
)

var (
	suiteCtx context.Context
	kube     *cluster.Cluster
	// k8s is an administrator's client without a cache.
	k8s client.Client
	// web sends plain requests to the API server. Unlike client-go, it never repeats one.
	web *http.Client
	// operator is the process under test.
	operator *process
	// image is the model server.
	image = "registry.local/e2e-sentiment:v1"
)

func TestE2E(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	suiteCtx = t.Context()

	startCluster(t)
	connect(t)
	loadImage(t)

	RegisterFailHandler(ginkgo.Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(poll)
	SetDefaultConsistentlyPollingInterval(poll)
	operator = &process{log: filepath.Join(t.TempDir(), "manager.log")}
	tests = t
	ginkgo.RunSpecs(t, "End to end")
}

var _ = ginkgo.BeforeSuite(func() {
	installCRDs()
	operator.start()
	ginkgo.DeferCleanup(func() { operator.stop() })
})

// startCluster skips the test where no container can run.
func startCluster(t *testing.T) {
	t.Helper()
	realNode := os.Getenv("E2E_REAL_NODE")
	if realNode == "" {
		realNode = "auto"
	}
	// Not t.Context(): it ends before the cleanups, and a cluster's start is not to be cut short by it.
	var err error
	kube, err = cluster.Start(context.Background(), cluster.Options{
		RealNode: realNode,
		Dir:      os.Getenv("E2E_DIR"),
		Args: []string{
			fmt.Sprintf("--real-node-gpus=%d", nodeGPUs),
			"--controller-manager-arg=--horizontal-pod-autoscaler-sync-period=2s",
		},
		Progress: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kube.Stop(); err != nil {
			t.Error(err)
		}
	})
	if !kube.RealNode {
		t.Skipf("SKIPPED, ALL OF IT: containers cannot run on this cluster: %s. They can on Linux, as root, "+
			"with runc and the CNI plugins (Debian: apt-get install runc containernetworking-plugins).", kube.RealNodeReason)
	}
}

func connect(t *testing.T) {
	t.Helper()
	scheme, err := setup.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if k8s, err = client.New(kube.Config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if web, err = rest.HTTPClientFor(kube.Config); err != nil {
		t.Fatal(err)
	}
}

func loadImage(t *testing.T) {
	t.Helper()
	if given := os.Getenv("E2E_IMAGE"); given != "" {
		image = given
		return
	}
	if err := kube.LoadImage(suiteCtx, image, binary(t, "modelserver")); err != nil {
		t.Fatalf("%v (E2E_IMAGE names an image of test/modelserver that the cluster can pull)", err)
	}
}

// binary is the path of a program that make built.
func binary(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("bin/%s is not built: run `make build modelserver`", name)
	}
	return path
}

// installCRDs installs the definitions. On a cluster that is not the suite's own they are removed at the end, if they were
// not there before.
func installCRDs() {
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	Expect(err).NotTo(HaveOccurred())
	Expect(files).NotTo(BeEmpty())
	for _, file := range files {
		data, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		crd := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal(data, &crd.Object)).To(Succeed())
		installCRD(crd)
	}
}

func installCRD(crd *unstructured.Unstructured) {
	ginkgo.GinkgoHelper()
	err := k8s.Create(suiteCtx, crd)
	if apierrors.IsAlreadyExists(err) {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(crd.GroupVersionKind())
		Expect(k8s.Get(suiteCtx, client.ObjectKeyFromObject(crd), found)).To(Succeed())
		crd.SetResourceVersion(found.GetResourceVersion())
		Expect(k8s.Update(suiteCtx, crd)).To(Succeed())
		return
	}
	Expect(err).NotTo(HaveOccurred())
	if !kube.Local {
		ginkgo.DeferCleanup(func() { Expect(k8s.Delete(suiteCtx, crd)).To(Succeed()) })
	}
}

// newNamespace gives a spec a namespace of its own. What is in it goes when the spec ends.
func newNamespace() string {
	ginkgo.GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	Expect(k8s.Create(suiteCtx, namespace)).To(Succeed())
	watched = namespace.Name
	ginkgo.DeferCleanup(func() {
		// The owners go first: the operator would make their children anew.
		for _, kind := range primaries() {
			Expect(k8s.DeleteAllOf(suiteCtx, kind, client.InNamespace(namespace.Name))).To(Succeed())
		}
		Expect(k8s.Delete(suiteCtx, namespace)).To(Succeed())
	})
	return namespace.Name
}
