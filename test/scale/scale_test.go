package scale

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/setup"
	"github.com/aimodel-operator/aimodel-operator/test/cluster"
)

const (
	namespace = "scale"
	clients   = 8
	// children of a default service: ServiceAccount, Service, Deployment.
	children = 3
	// statusBudget is the writes that a service may cost beside those that create its children.
	statusBudget = 3
	// halfway is the part of the services that may cost one write more: where the control plane is slow, some are seen while
	// their pods exist and are not yet available.
	halfway = 0.1
	// restartReads is the reads of a start: discovery, and a list and a watch for every cached kind. It does not
	// depend on the number of services.
	restartReads = 60
)

func TestScale(t *testing.T) {
	services := envInt(t, "SCALE_SERVICES", 300)
	rest := envDuration(t, "SCALE_REST", time.Minute)
	ctx := t.Context()
	c, kube := startCluster(ctx, t, services)
	op := startOperator(ctx, t, c)

	// The catalogue entry that all services refer to is no part of the measurement.
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	must(t, kube.Create(ctx, catalogueEntry()))
	waitFor(ctx, t, "the model to be catalogued", func() bool {
		model := &aiv1.AIModel{}
		return kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "model"}, model) == nil &&
			meta.IsStatusConditionTrue(model.Status.Conditions, aiv1.ConditionReady)
	})

	seen := follow(ctx, t, c, kube.Scheme(), namespace)
	before := readAudit(t, c.AuditLog)
	start := time.Now()
	created := createAll(ctx, t, kube, services, service)
	waitFor(ctx, t, "all Deployments to exist", func() bool { return seen.exist() == services })
	exist := time.Since(start)
	reachable := countServices(ctx, t, kube)
	waitFor(ctx, t, "all Deployments to be available", func() bool { return seen.available() == services })
	available := time.Since(start)
	waitFor(ctx, t, "all services to be Ready", func() bool { return seen.ready() == services })
	ready := time.Since(start)
	settle(ctx, t, c)
	converged := readAudit(t, c.AuditLog).minus(before)
	memory, peak := op.memory(t)
	op.saveHeap(t, filepath.Join(root(t), "bin", "scale-heap.pprof"))

	settled := readAudit(t, c.AuditLog)
	pause(ctx, rest)
	atRest := readAudit(t, c.AuditLog).minus(settled)

	op.stop(t)
	spent := op.cmd.ProcessState.UserTime() + op.cmd.ProcessState.SystemTime()
	stopped := readAudit(t, c.AuditLog)
	op = startOperator(ctx, t, c)
	op.waitWorking(ctx, t)
	settle(ctx, t, c)
	restarted := readAudit(t, c.AuditLog).minus(stopped)

	// The yardstick for the times, which depend on the machine and on what the control plane's own controllers take of it.
	op.stop(t)
	twins := newTwins(ctx, t, c, kube)
	start = time.Now()
	createAll(ctx, t, kube, services, twins.of)
	waitFor(ctx, t, "a bare client's Deployments to be available", func() bool { return twins.seen.available() == services })
	bareAvailable := time.Since(start)
	bare := createAll(ctx, t, kube, services, bareDeployment)

	report := []string{
		fmt.Sprintf("%d services of one GPU, created by %d clients in %.1f s", services, clients, created.Seconds()),
		fmt.Sprintf("all Deployments exist after     %.1f s", exist.Seconds()),
		fmt.Sprintf("  and of the Services           %d", reachable),
		fmt.Sprintf("all Deployments available after %.1f s", available.Seconds()),
		fmt.Sprintf("all services Ready after        %.1f s", ready.Seconds()),
		fmt.Sprintf("requests per service            %.2f, of these writes %.2f", per(converged.all(), services), per(converged.writes(), services)),
		fmt.Sprintf("  %s", converged),
		fmt.Sprintf("memory (RSS)                    %d MB, at most %d MB", memory, peak),
		fmt.Sprintf("processor time                  %.1f s", spent.Seconds()),
		fmt.Sprintf("at rest for %s              %d writes, %d reads", rest, atRest.writes(), atRest.all()-atRest.writes()),
		fmt.Sprintf("after a restart                 %d writes, %d reads", restarted.writes(), restarted.all()-restarted.writes()),
		fmt.Sprintf("  %s", restarted),
		fmt.Sprintf("without any operator, the same objects created by the same clients are available after %.1f s", bareAvailable.Seconds()),
		fmt.Sprintf("a bare client on this machine   %.0f Deployments/s", float64(services)/bare.Seconds()),
	}
	text := strings.Join(report, "\n") + "\n"
	t.Log("\n" + text)
	must(t, os.WriteFile(filepath.Join(root(t), "bin", "scale-report.txt"), []byte(text), 0o600))

	if got, most := per(converged.writes(), services), children+statusBudget+halfway; got > most {
		t.Errorf("%.2f writes per service, want at most %.1f", got, most)
	}
	if most := services - services/10; reachable > most {
		t.Errorf("%d Services when the last Deployment was created, want at most %d: pods come first", reachable, most)
	}
	if reads := converged.all() - converged.writes(); reads > services/10 {
		t.Errorf("%d reads past the cache while %d services came up, want next to none", reads, services)
	}
	if atRest.writes() != 0 {
		t.Errorf("%d writes at rest, want none: %s", atRest.writes(), atRest)
	}
	if restarted.writes() != 0 {
		t.Errorf("%d writes after a restart with nothing changed, want none: %s", restarted.writes(), restarted)
	}
	if reads := restarted.all(); reads > restartReads {
		t.Errorf("%d reads after a restart, want at most %d whatever the number of services: %s", reads, restartReads, restarted)
	}
}

// countServices counts the Services that were created.
func countServices(ctx context.Context, t *testing.T, kube client.Client) int {
	t.Helper()
	var list corev1.ServiceList
	must(t, kube.List(ctx, &list, client.InNamespace(namespace)))
	return len(list.Items)
}

func startCluster(ctx context.Context, t *testing.T, services int) (*cluster.Cluster, client.Client) {
	t.Helper()
	nodes := services/50 + 1 // twice: with the operator, and without it
	c, err := cluster.Start(ctx, cluster.Options{
		AuditLog: true,
		Args:     strings.Fields(os.Getenv("SCALE_LOCALKUBE_ARGS")),
		Nodes:    []string{fmt.Sprintf("name=gpu,count=%d,gpus=128,pods=250,cpu=256,ram=2048Gi", nodes)},
		Progress: os.Stderr,
	})
	must(t, err)
	t.Cleanup(func() { must(t, c.Stop()) })
	if !c.Local || c.AuditLog == "" {
		t.Skip("SKIPPED: the scale test counts requests in the audit log of a localkube; unset KUBECONFIG to run it")
	}
	output, err := exec.CommandContext(ctx, c.Kubectl, "--kubeconfig", c.Kubeconfig, "apply", "-f", filepath.Join(root(t), "config/crd/bases")).CombinedOutput()
	if err != nil {
		t.Fatalf("install the CRDs: %v\n%s", err, output)
	}
	scheme, err := setup.Scheme()
	must(t, err)
	kube, err := client.New(c.Config, client.Options{Scheme: scheme})
	must(t, err)
	return c, kube
}

// createAll creates what each of that many names stands for with all clients, and returns how long it took.
func createAll(ctx context.Context, t *testing.T, kube client.Client, objects int, of func(name string) []client.Object) time.Duration {
	t.Helper()
	start := time.Now()
	names := make(chan string)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for name := range names {
				for _, object := range of(name) {
					if err := kube.Create(ctx, object); err != nil {
						t.Errorf("create %T %s: %v", object, name, err)
					}
				}
			}
		})
	}
	for i := range objects {
		names <- "s" + strconv.Itoa(i)
	}
	close(names)
	group.Wait()
	return time.Since(start)
}

func catalogueEntry() *aiv1.AIModel {
	return &aiv1.AIModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "model"},
		Spec:       aiv1.AIModelSpec{ModelName: "scale-model", ModelVersion: "1"},
	}
}

func service(name string) []client.Object {
	return []client.Object{&aiv1.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: aiv1.InferenceServiceSpec{
			ModelRef:    aiv1.ModelReference{Name: "model"},
			Runtime:     aiv1.Runtime{Name: aiv1.RuntimeCustom, Image: "registry.local/server:1"},
			Accelerator: &aiv1.Accelerator{ResourceName: "nvidia.com/gpu", Count: 1},
		},
	}}
}

func per(requests, services int) float64 { return float64(requests) / float64(services) }
