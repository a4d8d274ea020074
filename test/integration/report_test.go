package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var (
	// tests is the test that runs the suite.
	tests *testing.T
	// used are the namespaces of the spec that runs.
	used []string
)

var _ = ginkgo.BeforeEach(func() { used = nil })

var _ = ginkgo.JustAfterEach(func() {
	if ginkgo.CurrentSpecReport().Failed() {
		for _, namespace := range used {
			dump(namespace)
		}
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
			t.Errorf("%s after %s at %s (more of it below):\n%s", spec.State, spec.RunTime.Round(time.Millisecond),
				spec.Failure.Location, spec.Failure.Message)
		default:
			t.Logf("took %s", spec.RunTime.Round(time.Millisecond))
		}
	})
})

// dump prints what the owners in the namespace of a failed spec say, and the events.
func dump(namespace string) {
	models, services, events := &aiv1.AIModelList{}, &aiv1.InferenceServiceList{}, &eventsv1.EventList{}
	for _, list := range []client.ObjectList{models, services, events} {
		if err := k8s.List(suiteCtx, list, client.InNamespace(namespace)); err != nil {
			say("%T: %v\n", list, err)
		}
	}
	for i := range models.Items {
		say("AIModel %s/%s:\n%s\n", namespace, models.Items[i].Name, asYAML(models.Items[i].Status))
	}
	for i := range services.Items {
		say("InferenceService %s/%s:\n%s\n", namespace, services.Items[i].Name, asYAML(services.Items[i].Status))
	}
	for i := range events.Items {
		event := &events.Items[i]
		say("%s/%s %s: %s\n", event.Regarding.Kind, event.Regarding.Name, event.Reason, event.Note)
	}
}

func say(format string, args ...any) { _, _ = fmt.Fprintf(ginkgo.GinkgoWriter, format, args...) }

func asYAML(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
