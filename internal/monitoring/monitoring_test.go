package monitoring

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
)

// sources is the folder of what is installed.
const sources = "../../config"

func decode(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(sources, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
}

func made(t *testing.T, settings Settings) (*monitoringv1.ServiceMonitor, *monitoringv1.PrometheusRule) {
	t.Helper()
	all, err := objects("ops", settings)
	if err != nil {
		t.Fatal(err)
	}
	monitor, _ := all[0].(*monitoringv1.ServiceMonitor)
	rules, _ := all[1].(*monitoringv1.PrometheusRule)
	if len(all) != 2 || monitor == nil || rules == nil {
		t.Fatalf("objects = %v", all)
	}
	return monitor, rules
}

func TestTheObjectsAreThoseOfKustomize(t *testing.T) {
	monitor, rules := made(t, Settings{})
	for file, object := range map[string]interface {
		metav1.Object
		runtime.Object
	}{"prometheus/service_monitor.yaml": monitor, "prometheus/prometheusrule.yaml": rules} {
		want := map[string]any{}
		decode(t, file, &want)
		got, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want["spec"], got["spec"]); diff != "" {
			t.Errorf("%s (-file +made):\n%s", file, diff)
		}
		if want, _ := want["metadata"].(map[string]any); object.GetName() != want["name"] || object.GetNamespace() != "ops" {
			t.Errorf("%s/%s is made of %v", object.GetNamespace(), object.GetName(), want)
		}
	}
}

func TestSettings(t *testing.T) {
	monitor, rules := made(t, Settings{TokenSecret: "scraper", Labels: map[string]string{"release": "prometheus", "app.kubernetes.io/name": "x"}})
	want := &monitoringv1.ServiceMonitor{}
	decode(t, "../internal/monitoring/testdata/token-secret.yaml", want)
	if diff := cmp.Diff(want, monitor); diff != "" {
		t.Errorf("ServiceMonitor (-file +made):\n%s", diff)
	}
	if rules.Labels["release"] != "prometheus" || rules.Labels["app.kubernetes.io/name"] != "aimodel-operator" {
		t.Errorf("labels of the PrometheusRule = %v", rules.Labels)
	}
}

// The permissions are bound to names, and the bundle has one Deployment.
func TestNamesAreThoseOfTheInstallation(t *testing.T) {
	monitor, rules := made(t, Settings{})
	role := &rbacv1.Role{}
	decode(t, "olm/monitoring_role.yaml", role)
	want := map[string]string{"prometheusrules": rules.Name, "servicemonitors": monitor.Name, "deployments": Deployment}
	got := map[string]string{}
	for _, rule := range role.Rules {
		for _, name := range rule.ResourceNames {
			got[strings.Join(rule.Resources, ",")] = name
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names that the role is bound to (-needed +bound):\n%s", diff)
	}
	deployment := &appsv1.Deployment{}
	decode(t, "olm/monitoring.yaml", deployment)
	if deployment.Name != Deployment {
		t.Errorf("the Deployment is %q", deployment.Name)
	}
}

func TestPauses(t *testing.T) {
	failure := errors.New("slow")
	for name, tc := range map[string]struct {
		last time.Duration
		err  error
		want time.Duration
	}{
		"what stands is looked at now and then":    {0, nil, lastPause},
		"an API that is missing is soon asked for": {4 * time.Minute, fmt.Errorf("pass: %w", errNotServed), firstPause},
		"a first failure is tried again soon":      {0, failure, firstPause},
		"so is the first after a success":          {lastPause, failure, firstPause},
		"then it takes longer":                     {firstPause, failure, 2 * firstPause},
		"but never for ever":                       {8 * time.Minute, failure, lastPause},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nextPause(tc.last, tc.err); got != tc.want {
				t.Errorf("pause = %s, want %s", got, tc.want)
			}
		})
	}
}

func TestAProblemIsToldOnce(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	k := &keeper{recorder: recorder}
	owner := k.owner()
	conflict := &apply.ConflictError{Kind: "ServiceMonitor", Namespace: "ops", Name: "x", Holder: "not controlled by this operator"}
	k.tell(t.Context(), owner, nil, errors.New("the owner is not known, so there is nothing to tell of"))
	owner.UID = "1"
	for range 2 {
		k.tell(t.Context(), owner, nil, errNotServed)
	}
	for range 2 {
		k.tell(t.Context(), owner, nil, fmt.Errorf("apply: %w", conflict))
	}
	k.tell(t.Context(), owner, nil, errors.New("no"))
	k.tell(t.Context(), owner, []apply.Change{{Action: apply.Created, Kind: "A", Name: "a"}, {Action: apply.Repaired, Kind: "B", Name: "b"}}, nil)
	k.tell(t.Context(), owner, nil, errors.New("no"))
	close(recorder.Events)
	var got []string
	for event := range recorder.Events {
		got = append(got, event)
	}
	want := []string{
		"Warning MonitoringConflict apply: " + conflict.Error(), "Warning MonitoringFailed no",
		"Normal MonitoringSetUp A a was created, B b was repaired", "Warning MonitoringFailed no",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// world is a cluster with the operator's Deployment that serves some kinds. It answers a create with an error, if there is one.
func world(t *testing.T, refusal error, served ...string) *keeper {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, monitoringv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	for _, kind := range served {
		mapper.Add(monitoringv1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	wanted, err := objects("ops", Settings{})
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{namespace: "ops", wanted: wanted}
	owner := k.owner()
	owner.UID = "1"
	k.live = fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper).WithObjects(owner).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, next client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if refusal != nil {
				return refusal
			}
			return next.Create(ctx, object, options...)
		},
	}).Build()
	k.applier = &apply.Applier{Client: k.live, Live: k.live}
	return k
}

func TestOnePass(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{}, "") // as a path that is not served is answered
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "servicemonitors"}, "x", errors.New("no right"))
	for name, tc := range map[string]struct {
		served  []string
		refusal error
		created int
		missing bool
		failed  string
	}{
		"neither kind is served":           {missing: true},
		"one is":                           {served: []string{"PrometheusRule"}, created: 1, missing: true},
		"both are":                         {served: []string{"PrometheusRule", "ServiceMonitor"}, created: 2},
		"they have gone since":             {served: []string{"PrometheusRule", "ServiceMonitor"}, refusal: gone, missing: true},
		"the operator may not create them": {served: []string{"PrometheusRule", "ServiceMonitor"}, refusal: forbidden, failed: "no right"},
		"a failure is told before a kind that is missing": {served: []string{"ServiceMonitor"}, refusal: forbidden, failed: "no right"},
	} {
		t.Run(name, func(t *testing.T) {
			k := world(t, tc.refusal, tc.served...)
			changes, err := k.keep(t.Context(), k.owner())
			if len(changes) != tc.created || errors.Is(err, errNotServed) != tc.missing {
				t.Errorf("changes = %v, error = %v", changes, err)
			}
			if failed := err != nil && !tc.missing; failed != (tc.failed != "") || failed && !strings.Contains(err.Error(), tc.failed) {
				t.Errorf("error = %v, want %q", err, tc.failed)
			}
			if again, _ := k.keep(t.Context(), k.owner()); len(again) > 0 {
				t.Errorf("a second pass changes %v", again)
			}
		})
	}
}
