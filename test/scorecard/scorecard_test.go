// Package scorecard runs all of it in pods: the operator from its image, installed as the manifests say, and the tests of the bundle
// that `operator-sdk scorecard` starts, from their images. Nothing is pulled: the node gets every image from this machine. Where
// no container can run the suite is skipped, and says why.
//
// SCORECARD_REAL_NODE=on fails where containers cannot run.
package scorecard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/aimodel-operator/aimodel-operator/test/cluster"
)

const (
	root = "../.."
	// images has those that `make test-scorecard` built.
	images = root + "/dist/images-for-pods"
	// namespace is where the tests of the bundle work.
	namespace = "scorecard"
	// untar is the image that unpacks the bundle for them.
	untar = "registry.local/untar:v1"
)

func TestScorecard(t *testing.T) {
	c := start(t)
	tests := configured(t)
	loadImages(t, c, tests)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(look(c))
		}
	})

	run(t, c, "make", "-C", root, "deploy", "KUBECTL="+c.Kubectl)
	kubectl(t, c, "-n", "aimodel-operator-system", "rollout", "status", "deployment/aimodel-operator-controller-manager", "--timeout=3m")

	kubectl(t, c, "create", "namespace", namespace)
	kubectl(t, c, "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	kubectl(t, c, "-n", namespace, "create", "serviceaccount", "scorecard")
	kubectl(t, c, "-n", namespace, "create", "rolebinding", "scorecard", "--clusterrole=edit", "--serviceaccount="+namespace+":scorecard")
	results := scorecard(t, c)
	for _, test := range tests {
		t.Run(test.Labels["test"], func(t *testing.T) {
			status, found := results[test.Labels["test"]]
			if !found || len(status.Results) == 0 {
				t.Fatalf("it has no result")
			}
			for _, result := range status.Results {
				if result.State != "pass" {
					t.Errorf("state %q: %v\n%s", result.State, result.Errors, result.Log)
				}
			}
		})
	}
}

// test is one of the configuration of scorecard.
type test struct {
	Image  string            `json:"image"`
	Labels map[string]string `json:"labels"`
}

// configured are the tests that the bundle has.
func configured(t *testing.T) []test {
	t.Helper()
	data, err := os.ReadFile(root + "/bundle/tests/scorecard/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Stages []struct {
			Tests []test `json:"tests"`
		} `json:"stages"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	var tests []test
	for _, stage := range config.Stages {
		tests = append(tests, stage.Tests...)
	}
	if len(tests) == 0 {
		t.Fatal("the bundle has no tests")
	}
	return tests
}

// start skips the test where no container can run.
func start(t *testing.T) *cluster.Cluster {
	t.Helper()
	if os.Getenv("KUBECONFIG") != "" {
		t.Skip("SKIPPED, ALL OF IT: the suite brings images to a node of its own: unset KUBECONFIG")
	}
	if _, err := exec.LookPath("busybox"); err != nil {
		t.Skip("SKIPPED, ALL OF IT: the bundle is unpacked in pods with busybox, which is not installed (Debian: apt-get install busybox-static)")
	}
	// Not t.Context(): it ends before the cleanups.
	c, err := cluster.Start(context.Background(), cluster.Options{
		RealNode: cmp.Or(os.Getenv("SCORECARD_REAL_NODE"), "auto"), Progress: io.Discard,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	if !c.RealNode {
		t.Skipf("SKIPPED, ALL OF IT: containers cannot run on this machine: %s", c.RealNodeReason)
	}
	return c
}

// loadImages gives the node what is run, under the names that the installation and the bundle use.
func loadImages(t *testing.T, c *cluster.Cluster, tests []test) {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{
		untar: busybox,
		strings.TrimSpace(run(t, c, "make", "-C", root, "-s", "show-IMG")): images + "/manager",
	}
	for _, test := range tests {
		name, _, _ := strings.Cut(filepath.Base(test.Image), ":")
		switch {
		case strings.HasSuffix(name, "-scorecard"):
			sources[test.Image] = images + "/scorecard"
		case name == "scorecard-test":
			sources[test.Image] = root + "/bin/scorecard-test"
		default:
			t.Fatalf("nothing on this machine is the image %s", test.Image)
		}
	}
	for ref, source := range sources {
		if err := c.LoadImage(t.Context(), ref, source); err != nil {
			t.Fatalf("%v (`make test-scorecard` builds what is needed; busybox has to be a static program, as in Debian's busybox-static)", err)
		}
	}
}

// status is what a test reports.
type status struct {
	Results []struct {
		State, Log string
		Errors     []string
	} `json:"results"`
}

// scorecard runs the tests as the documentation says, and returns what came of each.
func scorecard(t *testing.T, c *cluster.Cluster) map[string]status {
	t.Helper()
	command := exec.CommandContext(t.Context(), root+"/bin/operator-sdk", "scorecard", root+"/bundle", "--namespace="+namespace,
		"--service-account=scorecard", "--pod-security=restricted", "--wait-time=8m", "--untar-image="+untar, "--output=json")
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	var said bytes.Buffer
	command.Stderr = &said
	output, failed := command.Output() // also if a test failed
	var list struct {
		Items []struct {
			Spec   test   `json:"spec"`
			Status status `json:"status"`
		} `json:"items"`
	}
	if err := json.Unmarshal(output, &list); err != nil {
		t.Fatalf("operator-sdk scorecard: %v, %v\n%s%s", failed, err, output, said.String())
	}
	results := map[string]status{}
	for i := range list.Items {
		results[list.Items[i].Spec.Labels["test"]] = list.Items[i].Status
	}
	return results
}

func kubectl(t *testing.T, c *cluster.Cluster, args ...string) {
	t.Helper()
	run(t, c, c.Kubectl, args...)
}

// run runs a program on the cluster.
func run(t *testing.T, c *cluster.Cluster, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	output, err := commandOn(ctx, c, program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, output)
	}
	return string(output)
}

func commandOn(ctx context.Context, c *cluster.Cluster, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	return command
}

// look tells what the cluster looks like, for whoever reads about a failure.
func look(c *cluster.Cluster) string {
	var said strings.Builder
	for _, args := range [][]string{
		{"get", "pods,aimodels,inferenceservices", "-A", "-o", "wide"},
		{"get", "events", "-A"},
		{"-n", "aimodel-operator-system", "logs", "deployment/aimodel-operator-controller-manager", "--tail=40"},
	} {
		output, _ := commandOn(context.Background(), c, c.Kubectl, args...).CombinedOutput()
		said.WriteString("$ kubectl " + strings.Join(args, " ") + "\n" + string(output))
	}
	return said.String()
}
