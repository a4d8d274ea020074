package olm

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
)

// integrationRun is a part of the integration tests, run with the permissions of an installation.
type integrationRun struct {
	// name is that of its log.
	name string
	// labels select the part, and focus the specs that stand for the rest of it where not all are run.
	labels, focus string
}

// Together these are all integration tests.
var (
	asInstalled = integrationRun{name: "integration-installed", labels: "!starts-operators",
		focus: "permissions of a running operator|An AIModel (with an image|is scaled|loses)|Ownership (leaves objects|mends)|Deletion leaves|An InferenceService (follows|has an autoscaler)"}
	starting = integrationRun{name: "integration-starting", labels: "starts-operators",
		focus: "An operator (for some namespaces|that dies before it recorded)|Two operators take over|Model registries have an entry while"}
)

// allIntegration says that no spec is left out, as before a release.
func allIntegration() bool { return os.Getenv("OLM_INTEGRATION") == "all" }

// run runs the part, with a variable that says how, and holds that it passes. It returns what became of every integration test,
// by name: nothing of those that are not in the part.
func (r integrationRun) run(variable string) types.SpecReports {
	ginkgo.GinkgoHelper()
	report := filepath.Join(logs, r.name+".json")
	args := []string{"test", "-vet=off", "-count=1", "-v", "-timeout=40m", "./test/integration",
		"-ginkgo.json-report=" + report, "-ginkgo.label-filter=" + r.labels}
	if !allIntegration() {
		args = append(args, "-ginkgo.focus="+r.focus)
	}
	command := exec.CommandContext(suiteCtx, "go", args...)
	command.Dir = "../.."
	command.Env = append(os.Environ(), "KUBECONFIG="+kube.Kubeconfig, variable, "CGO_ENABLED=0")
	output := &bytes.Buffer{}
	command.Stdout, command.Stderr = output, output
	failure := command.Run()
	Expect(os.WriteFile(filepath.Join(logs, r.name+".log"), output.Bytes(), 0o600)).To(Succeed())
	var suites []types.Report
	data, err := os.ReadFile(report)
	Expect(err).NotTo(HaveOccurred(), output.String())
	Expect(json.Unmarshal(data, &suites)).To(Succeed())
	Expect(suites).To(HaveLen(1))
	specs := suites[0].SpecReports.WithLeafNodeType(types.NodeTypeIt)
	for i := range specs {
		count(&specs[i])
	}
	Expect(failure).NotTo(HaveOccurred(), output.String())
	Expect(specs.WithState(types.SpecStatePassed)).NotTo(BeEmpty(), output.String())
	return specs
}

// count makes an integration test that was run a test of this suite.
func count(spec *types.SpecReport) {
	if filteredOut(spec) {
		return
	}
	tests.Run("integration: "+spec.FullText(), func(t *testing.T) {
		switch {
		case spec.State == types.SpecStateSkipped:
			t.Skip(spec.Failure.Message)
		case spec.State != types.SpecStatePassed:
			t.Errorf("%s: %s", spec.State, spec.Failure.Message)
		default:
			t.Logf("took %s", spec.RunTime.Round(time.Millisecond))
		}
	})
}

// filteredOut says that a run did not ask for a spec.
func filteredOut(spec *types.SpecReport) bool {
	return spec.State.Is(types.SpecStateSkipped|types.SpecStatePending) && spec.Failure.Message == ""
}

// expectEverySpec holds that each integration test has passed in one of the runs. Only for want of a model registry on this machine
// it may be skipped.
func expectEverySpec(runs ...types.SpecReports) {
	ginkgo.GinkgoHelper()
	known, done := map[string]bool{}, map[string]int{}
	for _, specs := range runs {
		notHere := map[string]bool{} // by container: the first spec of one says it for the rest
		for i := range specs {
			spec, name, container := &specs[i], specs[i].FullText(), strings.Join(specs[i].ContainerHierarchyTexts, " ")
			known[name] = true
			notHere[container] = notHere[container] || strings.HasPrefix(spec.Failure.Message, "NOT TESTED")
			skipped := spec.State == types.SpecStateSkipped && !filteredOut(spec)
			if spec.State == types.SpecStatePassed || skipped && notHere[container] {
				done[name]++
			}
		}
	}
	for name := range known {
		Expect(done[name]).To(Equal(1), "runs in which the spec passed: %s", name)
	}
}
