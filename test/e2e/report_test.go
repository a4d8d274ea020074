package e2e

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var (
	// tests is the test that runs the suite.
	tests *testing.T
	// watched is the namespace of the spec that runs.
	watched string
)

// tailSize is how much of the operator's log a failed spec shows.
const tailSize = 6 << 10

var _ = ginkgo.JustAfterEach(func() {
	if ginkgo.CurrentSpecReport().Failed() {
		dump()
	}
})

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
			t.Errorf("%s after %s at %s (more of it below):\n%s", spec.State, seconds(spec.RunTime), spec.Failure.Location, spec.Failure.Message)
		default:
			t.Logf("took %s", seconds(spec.RunTime))
		}
	})
})

var _ = ginkgo.ReportAfterSuite("how long it took", func(suite ginkgo.Report) {
	specs := slices.Clone(suite.SpecReports)
	slices.SortFunc(specs, func(a, b ginkgo.SpecReport) int { return cmp.Compare(b.RunTime, a.RunTime) })
	text := fmt.Sprintf("The suite took %s:\n", seconds(suite.RunTime))
	for i := range specs {
		if specs[i].RunTime >= time.Second {
			text += fmt.Sprintf("  %5s  %s\n", seconds(specs[i].RunTime), cmp.Or(specs[i].FullText(), specs[i].LeafNodeType.String()))
		}
	}
	_, _ = fmt.Fprint(os.Stdout, "\n"+text) // nobody to tell if it fails
})

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

// dump prints what there is in the namespace of a failed spec, and what the operator said last.
func dump() {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(ginkgo.GinkgoWriter, format, args...) }
	in := client.InNamespace(watched)
	models, services := &aiv1.AIModelList{}, &aiv1.InferenceServiceList{}
	pods, events := &corev1.PodList{}, &corev1.EventList{}
	for _, list := range []client.ObjectList{models, services, pods, events} {
		if err := k8s.List(suiteCtx, list, in); err != nil {
			say("%T: %v\n", list, err)
		}
	}
	for i := range models.Items {
		say("AIModel %s: %s\n", models.Items[i].Name, asYAML(models.Items[i].Status))
	}
	for i := range services.Items {
		say("InferenceService %s: %s\n", services.Items[i].Name, asYAML(services.Items[i].Status))
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		say("Pod %s on %q, deleted %v: %s %s\n", pod.Name, pod.Spec.NodeName, pod.DeletionTimestamp,
			asYAML(pod.Status.Conditions), asYAML(pod.Status.ContainerStatuses))
	}
	for i := range events.Items {
		event := &events.Items[i]
		say("%s %s/%s %s: %s\n", event.LastTimestamp.Format(time.TimeOnly), event.InvolvedObject.Kind,
			event.InvolvedObject.Name, event.Reason, event.Message)
	}
	log, err := os.ReadFile(operator.log)
	say("The operator's log ends with (error %v):\n%s\n", err, log[max(0, len(log)-tailSize):])
}

func asYAML(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return "\n    " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n    ")
}
