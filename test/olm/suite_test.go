// Package olm installs the operator from its bundle the way the Operator Lifecycle Manager does, with that manager's own two
// operators as local processes: the catalog of a release is served, a Subscription asks for the package, and what comes of it is
// looked at.
// Nodes are simulated, so the pod that the Deployment of the operator gets runs nothing: the suite runs bin/manager in its
// place, with the pod's arguments, variables and files, among them a token of its service account, and so with no permission but
// those that the bundle brings.
// Specs with the label v1 do the same with the two components of OLM v1, which take bundle and catalog from images in a registry on this
// machine; those of the Lifecycle Manager before that have the label v0. Either run without the programs of the other.
//
// Settings, as environment variables: OLM_BUNDLE is the folder of the bundle, by default the repository's. OLM_LOGS is a
// folder that keeps the logs.
package olm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/setup"
	"github.com/aimodel-operator/aimodel-operator/test/cluster"
	"github.com/aimodel-operator/aimodel-operator/test/process"
)

const (
	// soon is for what the API server and the operator do by themselves.
	soon = time.Minute
	// managed is for what goes through several operators that look again only now and then.
	managed = 4 * time.Minute
	// steady is how long nothing may happen for it to count as nothing.
	steady = 8 * time.Second
	poll   = 200 * time.Millisecond
	// ending is how long a process may take to end.
	ending = 45 * time.Second

	// olmNamespace is that of the Lifecycle Manager and its catalogs.
	olmNamespace = "olm"
)

var (
	suiteCtx, endSuite = context.WithCancel(context.Background())
	tests              *testing.T
	kube               *cluster.Cluster
	// k8s is an administrator's client without a cache.
	k8s client.Client
	// logs is the folder of what the processes say, and scratch one that lasts as long as the suite.
	logs, scratch string
	// current is the bundle under test, previous what it replaces, and oldest what that replaces.
	current, previous, oldest bundle
)

func TestOLM(t *testing.T) {
	tests = t
	if os.Getenv("KUBECONFIG") != "" {
		t.Skip("SKIPPED, ALL OF IT: the suite starts a Lifecycle Manager of its own and needs a control plane of its own: unset KUBECONFIG")
	}
	if output, err := exec.CommandContext(suiteCtx, "unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, ALL OF IT: a process cannot be given the files that a pod has: unshare -m: %v: %s. It can on Linux, as root.", err, output)
	}
	RegisterFailHandler(ginkgo.Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(poll)
	SetDefaultConsistentlyDuration(steady)
	SetDefaultConsistentlyPollingInterval(poll)
	ginkgo.RunSpecs(t, "Operator Lifecycle Manager")
}

var _ = ginkgo.BeforeSuite(func() {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ginkgo.DeferCleanup(endSuite)
	scratch = ginkgo.GinkgoT().TempDir()
	if logs = os.Getenv("OLM_LOGS"); logs == "" {
		logs = scratch
	}
	Expect(os.MkdirAll(logs, 0o700)).To(Succeed())

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

	installMonitoring()
	makeBundles()
})

// startLifecycleManager installs the definitions of the Lifecycle Manager and runs its two operators.
func startLifecycleManager() {
	for _, crd := range lifecycleCRDs() {
		create(crd)
	}
	create(namespaceOf(olmNamespace))
	for _, kind := range []string{"CatalogSource", "Subscription", "InstallPlan", "ClusterServiceVersion", "OperatorGroup", "OperatorCondition"} {
		Eventually(func() error { return k8s.List(suiteCtx, lifecycleList(kind)) }).Should(Succeed())
	}
	// It has no flag for where the cluster is, and the other none for what the variable says.
	environment := []string{"KUBECONFIG=" + kube.Kubeconfig}
	run("olm-catalog", environment, "--namespace", olmNamespace, "--interval", "10s")
	run("olm", environment, "--namespace", olmNamespace, "--interval", "10s")
}

// lifecycleCRDs are those of the version of the Lifecycle Manager that tools/olm pins.
func lifecycleCRDs() []client.Object {
	ginkgo.GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(moduleFolder("olm", "github.com/operator-framework/api"), "crds", "*.yaml"))
	Expect(err).NotTo(HaveOccurred())
	Expect(files).NotTo(BeEmpty())
	var crds []client.Object
	for _, file := range files {
		for _, crd := range decode(file) {
			crds = append(crds, crd)
		}
	}
	return crds
}

// run starts a program of bin/ that runs until the suite ends.
func run(name string, environment []string, args ...string) *process.Process {
	ginkgo.GinkgoHelper()
	program, err := process.Binary(name)
	Expect(err).NotTo(HaveOccurred(), "run `make test-olm`, which builds what it needs")
	p, err := process.Start(filepath.Join(logs, name+".log"), environment, program, args...)
	Expect(err).NotTo(HaveOccurred())
	ginkgo.DeferCleanup(func() { _ = p.Stop(ending) }) // how the tools end is nothing that is tested here
	return p
}

// decode reads the objects of a YAML file.
func decode(file string) []*unstructured.Unstructured {
	ginkgo.GinkgoHelper()
	data, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		Expect(err).NotTo(HaveOccurred())
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Each spec becomes a test of its own, so that whoever counts tests counts specs.
var _ = ginkgo.ReportAfterEach(func(spec ginkgo.SpecReport) {
	skipped := spec.State.Is(types.SpecStateSkipped | types.SpecStatePending)
	if skipped && spec.Failure.Message == "" {
		return // nobody asked for it
	}
	tests.Run(spec.FullText(), func(t *testing.T) {
		switch {
		case skipped:
			t.Skip(spec.Failure.Message)
		case spec.Failed():
			t.Errorf("%s after %s: see below", spec.State, spec.RunTime.Round(time.Millisecond))
		default:
			t.Logf("took %s", spec.RunTime.Round(time.Millisecond))
		}
	})
})
