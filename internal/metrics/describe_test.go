package metrics

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// registered gives the labels of every metric of ours in the operator's registry, by name.
func registered(t *testing.T) map[string][]string {
	t.Helper()
	registry, ok := ctrlmetrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatal("the registry does not describe what it holds")
	}
	all := make(chan *prometheus.Desc)
	go func() { registry.Describe(all); close(all) }()
	found := map[string][]string{}
	shape := regexp.MustCompile(`fqName: "(aimodel_operator_\w+)".*variableLabels: \{([^}]*)\}`)
	for desc := range all {
		if parts := shape.FindStringSubmatch(desc.String()); parts != nil {
			found[parts[1]] = strings.FieldsFunc(parts[2], func(r rune) bool { return r == ',' })
		}
	}
	return found
}

func TestEveryMetricIsDescribedAndBounded(t *testing.T) {
	described := map[string]Description{}
	for _, d := range Descriptions() {
		described[d.Name] = d
		for _, label := range d.Labels {
			if (len(label.Values) > 0) == (label.Bound != "") {
				t.Errorf("%s: the label %s needs its values, or what bounds them", d.Name, label.Name)
			}
			if slices.Contains([]string{"name", "namespace", "pod", "model", "uid", "url"}, label.Name) {
				t.Errorf("%s: the label %s grows with the cluster", d.Name, label.Name)
			}
		}
	}
	found := registered(t)
	if len(found) < 5 {
		t.Errorf("only %d metrics are registered: %v", len(found), found)
	}
	for name, labels := range found {
		d, ok := described[name]
		if !ok {
			t.Errorf("%s is registered and not described: declare it with newCounter, newHistogram or newGauge", name)
			continue
		}
		var want []string
		for _, label := range d.Labels {
			want = append(want, label.Name)
		}
		if !slices.Equal(labels, want) {
			t.Errorf("%s has the labels %v, and describes %v", name, labels, want)
		}
	}
	for name := range described {
		if _, ok := found[name]; !ok {
			t.Errorf("%s is described and not registered", name)
		}
	}
}

func TestNamesKeepPrometheusConventions(t *testing.T) {
	serveFleet(t, nil, aModel("m", nil), deploymentOf("AIModel", "m", 1, 1, limits("nvidia.com/gpu", "1")))()
	newTestQueue(t, "AIModel")
	useAll()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var ours []*dto.MetricFamily
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), "aimodel_operator_") {
			ours = append(ours, family)
		}
	}
	for _, family := range ours {
		checkValues(t, family)
	}
	if len(ours) != len(Descriptions()) {
		t.Errorf("%d of %d metrics are linted", len(ours), len(Descriptions()))
	}
	problems, err := promlint.NewWithMetricFamilies(ours).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// useAll gives every metric a sample.
func useAll() {
	AddBlockedCleanups(1)
	TimeRender("AIModel")()
	ObserveStep("AIModel", StepApply, time.Second)
	CountError("AIModel", Waiting)
	CountChange("AIModel", "Created")
	SetBuild("1.2.3", "0123abc")
	writes.WithLabelValues("create", "services", writeOK).Inc()
	ObserveRegistryCall("mlflow", "register", CallOK, time.Second)
	ObservePhase("AIModel", PhaseReady, time.Second)
}

// checkValues holds that the labels of all samples have values that are described.
func checkValues(t *testing.T, family *dto.MetricFamily) {
	t.Helper()
	at := slices.IndexFunc(Descriptions(), func(d Description) bool { return d.Name == family.GetName() })
	if at < 0 {
		t.Errorf("%s is not described", family.GetName())
		return
	}
	for _, metric := range family.GetMetric() {
		for _, pair := range metric.GetLabel() {
			for _, label := range Descriptions()[at].Labels {
				if label.Name == pair.GetName() && label.Values != nil && !slices.Contains(label.Values, pair.GetValue()) {
					t.Errorf("%s: %s=%q is not described", family.GetName(), label.Name, pair.GetValue())
				}
			}
		}
	}
}
