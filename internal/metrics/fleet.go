package metrics

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

const (
	// fleetTimeout bounds one look at the cache, which answers at once unless it is still being filled.
	fleetTimeout = 2 * time.Second
	// maxAccelerators is how many names of accelerator resources are told apart. Users choose them.
	maxAccelerators = 20
	other           = "other"

	asked     = "asked"
	ready     = "ready"
	available = "available"
)

// knownReasons are those that are told apart.
var knownReasons = aiv1.Reasons()

var (
	resources = newGauge("aimodel_operator_resources",
		"Objects, by kind, by the status of their Ready condition, and by its reason.",
		kindLabel,
		Label{Name: "ready", Values: []string{"True", "False", "Unknown"}},
		Label{Name: "reason", Values: append(aiv1.Reasons(), other)})

	replicas = newGauge("aimodel_operator_replicas",
		"Replicas of all objects of a kind that were asked for, that are ready, and that are available.",
		kindLabel, Label{Name: "state", Values: []string{asked, ready, available}})

	accelerators = newGauge("aimodel_operator_accelerators",
		"Accelerators of all objects of a kind that were asked for, and that available replicas hold, by the name of the resource.",
		kindLabel, Label{Name: "resource", Bound: "the 20 resource names of which most are asked for; the rest together is other"},
		Label{Name: "state", Values: []string{asked, available}})

	cleanups = newGauge("aimodel_operator_cleanups_pending",
		"Objects that are being deleted and that the operator still has something to clean up for, by kind.", kindLabel)

	oldestCleanup = newGauge("aimodel_operator_cleanup_oldest_seconds",
		"For how long the object of that kind that has waited longest for its cleanup has been in deletion; 0 when none waits.", kindLabel)
)

// fleet is what the operator that leads in this process serves.
var fleet = &fleetCollector{}

func init() { ctrlmetrics.Registry.MustRegister(fleet) }

// CountFleet makes the metrics count the objects in a cache from when the operator is elected. A standby counts none: the
// sum over all replicas of the operator is then the number of objects.
func CountFleet(cache client.Reader, elected <-chan struct{}) {
	fleet.source.Store(&fleetSource{cache, elected})
}

type fleetSource struct {
	cache   client.Reader
	elected <-chan struct{}
}

// fleetCollector counts when it is asked. There is no count that a restart, a deletion or a missed event could make wrong.
type fleetCollector struct {
	source atomic.Pointer[fleetSource]
}

// Describe names the metrics.
func (c *fleetCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{resources, replicas, accelerators, cleanups, oldestCleanup} {
		descs <- desc
	}
}

// Collect counts what is in the cache. It says nothing of what it cannot read.
func (c *fleetCollector) Collect(found chan<- prometheus.Metric) {
	source := c.source.Load()
	if source == nil {
		return
	}
	select {
	case <-source.elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), fleetTimeout)
	defer cancel()
	models, services, deployments := &aiv1.AIModelList{}, &aiv1.InferenceServiceList{}, &appsv1.DeploymentList{}
	for _, list := range []client.ObjectList{models, services, deployments} {
		if err := source.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return
		}
	}
	now := time.Now()
	ofModels, ofServices := ownerCount{verdicts: map[verdict]int{}}, ownerCount{verdicts: map[verdict]int{}}
	for i := range models.Items {
		ofModels.add(&models.Items[i], now)
	}
	for i := range services.Items {
		ofServices.add(&services.Items[i], now)
	}
	ofModels.tell(found, "AIModel")
	ofServices.tell(found, "InferenceService")
	countDeployments(deployments.Items).tell(found)
}

// owner is an object with conditions.
type owner interface {
	client.Object
	GetConditions() []metav1.Condition
}

// verdict is what the Ready condition of an object says.
type verdict struct{ ready, reason string }

// ownerCount counts the objects of one kind.
type ownerCount struct {
	verdicts map[verdict]int
	pending  int
	oldest   time.Duration
}

func (c *ownerCount) add(object owner, now time.Time) {
	of := verdict{string(metav1.ConditionUnknown), aiv1.ReasonNotObserved}
	if condition := meta.FindStatusCondition(object.GetConditions(), aiv1.ConditionReady); condition != nil {
		of = verdict{string(condition.Status), condition.Reason}
	}
	if !slices.Contains(knownReasons, of.reason) {
		of.reason = other
	}
	c.verdicts[of]++
	if aiv1.IsBeingCleanedUp(object) {
		c.pending++
		c.oldest = max(c.oldest, now.Sub(object.GetDeletionTimestamp().Time))
	}
}

func (c *ownerCount) tell(found chan<- prometheus.Metric, kind string) {
	for of, count := range c.verdicts {
		found <- prometheus.MustNewConstMetric(resources, prometheus.GaugeValue, float64(count), kind, of.ready, of.reason)
	}
	found <- prometheus.MustNewConstMetric(cleanups, prometheus.GaugeValue, float64(c.pending), kind)
	found <- prometheus.MustNewConstMetric(oldestCleanup, prometheus.GaugeValue, c.oldest.Seconds(), kind)
}

// device is one sort of accelerator of one kind of owners.
type device struct{ kind, resource string }

// deploymentCount counts what Deployments ask for and have.
type deploymentCount struct {
	asked, ready, available map[string]float64
	devices, devicesInUse   map[device]float64
}

func countDeployments(deployments []appsv1.Deployment) *deploymentCount {
	c := &deploymentCount{asked: map[string]float64{}, ready: map[string]float64{}, available: map[string]float64{},
		devices: map[device]float64{}, devicesInUse: map[device]float64{}}
	for i := range deployments {
		deployment := &deployments[i]
		controller := metav1.GetControllerOf(deployment)
		if controller == nil || !slices.Contains(Kinds(), controller.Kind) {
			continue
		}
		want, up := float64(ptr.Deref(deployment.Spec.Replicas, 1)), float64(deployment.Status.AvailableReplicas)
		c.asked[controller.Kind] += want
		c.ready[controller.Kind] += float64(deployment.Status.ReadyReplicas)
		c.available[controller.Kind] += up
		for j := range deployment.Spec.Template.Spec.Containers {
			for name, quantity := range deployment.Spec.Template.Spec.Containers[j].Resources.Limits {
				if isAccelerator(name) {
					c.devices[device{controller.Kind, string(name)}] += want * quantity.AsApproximateFloat64()
					c.devicesInUse[device{controller.Kind, string(name)}] += up * quantity.AsApproximateFloat64()
				}
			}
		}
	}
	c.bound()
	return c
}

// isAccelerator says whether a resource is none of Kubernetes' own.
func isAccelerator(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), "kubernetes.io/")
}

// bound joins all accelerators but those of which most are asked for.
func (c *deploymentCount) bound() {
	totals := map[string]float64{}
	for of, count := range c.devices {
		totals[of.resource] += count
	}
	if len(totals) <= maxAccelerators {
		return
	}
	names := make([]string, 0, len(totals))
	for name := range totals {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(totals[b], totals[a]), strings.Compare(a, b)) })
	for _, counts := range []map[device]float64{c.devices, c.devicesInUse} {
		for of, count := range counts {
			if slices.Contains(names[maxAccelerators:], of.resource) {
				delete(counts, of)
				counts[device{of.kind, other}] += count
			}
		}
	}
}

func (c *deploymentCount) tell(found chan<- prometheus.Metric) {
	for _, kind := range Kinds() {
		for state, count := range map[string]float64{asked: c.asked[kind], ready: c.ready[kind], available: c.available[kind]} {
			found <- prometheus.MustNewConstMetric(replicas, prometheus.GaugeValue, count, kind, state)
		}
	}
	for of, count := range c.devices {
		found <- prometheus.MustNewConstMetric(accelerators, prometheus.GaugeValue, count, of.kind, of.resource, asked)
		found <- prometheus.MustNewConstMetric(accelerators, prometheus.GaugeValue, c.devicesInUse[of], of.kind, of.resource, available)
	}
}
