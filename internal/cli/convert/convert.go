// Package convert turns the objects of other serving systems into an AIModel and an InferenceService: the InferenceService of
// KServe (serving.kserve.io/v1beta1) and the NIMService of NVIDIA (apps.nvidia.com/v1alpha1). It names everything that it could
// not carry over, and reads no cluster.
package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// Converter converts documents. Add all of them, and then Convert: a document may explain another one.
type Converter struct {
	// Image is the server image for what names none.
	Image string
	// Skipped names the documents that are of no kind that can be converted.
	Skipped []string

	documents []document
	runtimes  map[string]*servingRuntime
	caches    map[string]nimCacheClaim
}

type document struct {
	kind, namespace, name string
	convert               func(*taker, string) (*converted, error)
	content               map[string]any
	explanations          map[string]string
}

// converted are the two objects that a document becomes.
type converted struct {
	model   *aiv1.AIModel
	service *aiv1.InferenceService
	values  map[string]any
}

// Result is what one document became.
type Result struct {
	// Source names the document.
	Source  string
	Objects []client.Object
	// Notes tell what was not carried over, each with its path.
	Notes []string
	// Err says why the document could not be converted. There are no objects then.
	Err error
}

// Add reads a document.
func (c *Converter) Add(data []byte) error {
	var content map[string]any
	if err := yaml.Unmarshal(data, &content); err != nil {
		return err
	}
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	metadata, _ := content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	d := document{kind: kind, namespace: namespace, name: name, content: content}
	switch {
	case kind == "":
		return errors.New("a document has no kind")
	case group == "serving.kserve.io" && kind == "InferenceService":
		d.convert, d.explanations = c.kserve, kserveExplanations
	case group == "serving.kserve.io" && (kind == "ServingRuntime" || kind == "ClusterServingRuntime"):
		if c.runtimes == nil {
			c.runtimes = map[string]*servingRuntime{}
		}
		c.runtimes[name] = &servingRuntime{name: name, content: content}
		return nil
	case group == "apps.nvidia.com" && kind == "NIMCache":
		return c.addCache(name, content)
	case group == "apps.nvidia.com" && kind == "NIMService":
		d.convert, d.explanations = c.nim, nimExplanations
	default:
		c.Skipped = append(c.Skipped, kind+"/"+name)
		return nil
	}
	if name == "" {
		return fmt.Errorf("a document of kind %s has no name", kind)
	}
	c.documents = append(c.documents, d)
	return nil
}

// Convert converts what was added, in that order.
func (c *Converter) Convert() []Result {
	results := make([]Result, 0, len(c.documents))
	for _, d := range c.documents {
		result := Result{Source: d.kind + "/" + d.name}
		t := &taker{fields: &fields{content: d.content}}
		made, err := d.convert(t, d.name)
		if err = errors.Join(err, t.err); err == nil {
			err = finish(t, made, d)
		}
		if err != nil {
			result.Err = fmt.Errorf("convert %s: %w", result.Source, err)
		} else {
			result.Objects = []client.Object{made.model, made.service}
			result.Notes = t.explain(d.explanations)
		}
		results = append(results, result)
	}
	return results
}

// finish fills in what both kinds of documents have in common.
func finish(t *taker, made *converted, d document) error {
	metadata(t, made, d)
	if len(made.values) > 0 {
		raw, err := json.Marshal(made.values)
		if err != nil {
			return fmt.Errorf("encode chartValues: %w", err)
		}
		made.service.Spec.ChartValues = &runtime.RawExtension{Raw: raw}
	}
	made.model.Spec.ModelName = modelName(made.model.Spec.ModelName)
	made.service.Spec.Runtime.Image = withTag(t, made.service.Spec.Runtime.Image)
	if resources := made.service.Spec.Resources; resources != nil && len(resources.Claims) > 0 {
		t.note("resources.claims", "claims of devices are not supported: ask for the accelerators by their resource")
		resources.Claims = nil
	}
	return t.err
}

// metadata carries names, labels and annotations over. Those of the other system mean nothing here.
func metadata(t *taker, made *converted, d document) {
	labels, annotations := get[map[string]string](t, "metadata.labels"), get[map[string]string](t, "metadata.annotations")
	for _, theirs := range []map[string]string{labels, annotations} {
		for key, value := range theirs {
			prefix, _, _ := strings.Cut(key, "/")
			switch {
			case key == corev1.LastAppliedConfigAnnotation:
			case strings.HasSuffix(prefix, "kserve.io"), strings.HasSuffix(prefix, "knative.dev"), strings.HasSuffix(prefix, "nvidia.com"),
				strings.HasSuffix(prefix, "istio.io"):
				t.note("metadata "+key, "its value %q is for another system", value)
			default:
				continue
			}
			delete(theirs, key)
		}
	}
	meta := metav1.ObjectMeta{Name: d.name, Namespace: d.namespace}
	made.model.ObjectMeta, made.service.ObjectMeta = meta, *meta.DeepCopy()
	if len(labels) > 0 {
		made.service.Labels = labels
	}
	if len(annotations) > 0 {
		made.service.Annotations = annotations
	}
	made.model.SetGroupVersionKind(aiv1.GroupVersion.WithKind(resolve.KindAIModel))
	made.service.SetGroupVersionKind(aiv1.GroupVersion.WithKind(resolve.KindInferenceService))
	made.service.Spec.ModelRef.Name = d.name
	// What the cluster added to an object that was read from it.
	t.drop("apiVersion", "kind", "status", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion",
		"metadata.generation", "metadata.creationTimestamp", "metadata.managedFields", "metadata.finalizers", "metadata.ownerReferences",
		"metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds", "metadata.selfLink")
}

var notInModelName = regexp.MustCompile(`[^a-z0-9]+`)

// modelName makes a name that an AIModel can have as modelName.
func modelName(name string) string {
	name = strings.Trim(notInModelName.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if len(name) < 3 {
		name = strings.Trim(name+"-model", "-")
	}
	return name
}

// withTag gives an image the tag that it has without saying so.
func withTag(t *taker, image string) string {
	if image == "" || strings.Contains(image, "@") || strings.Contains(image[strings.LastIndex(image, "/")+1:], ":") {
		return image
	}
	t.note("image", "%q has no tag, so it was given the tag latest: name a version", image)
	return image + ":latest"
}

// scale sets replicas and autoscaler from the bounds that both systems have. Without an upper bound there is no autoscaler.
func scale(t *taker, path string, spec *aiv1.InferenceServiceSpec, least *int32, most int32, metrics []autoscalingv2.MetricSpec,
	behavior *autoscalingv2.HorizontalPodAutoscalerBehavior,
) {
	replicas := ptr.Deref(least, 1)
	if most > 0 && replicas < 1 {
		t.note(path, "an autoscaler here keeps at least one replica: scaling to zero is not carried over")
		replicas = 1
	}
	spec.Replicas = ptr.To(min(replicas, 1000))
	if most > replicas {
		spec.Autoscaling = &aiv1.Autoscaling{MinReplicas: ptr.To(replicas), MaxReplicas: min(most, 1000), Metrics: metrics, Behavior: behavior}
	}
}

// placement takes where the pods may run.
func placement(t *taker, prefix string) *aiv1.Placement {
	p := &aiv1.Placement{
		NodeSelector:              get[map[string]string](t, prefix+"nodeSelector"),
		Tolerations:               get[[]corev1.Toleration](t, prefix+"tolerations"),
		Affinity:                  get[*corev1.Affinity](t, prefix+"affinity"),
		TopologySpreadConstraints: get[[]corev1.TopologySpreadConstraint](t, prefix+"topologySpreadConstraints"),
		PriorityClassName:         get[string](t, prefix+"priorityClassName"),
	}
	if p.NodeSelector == nil && p.Tolerations == nil && p.Affinity == nil && p.TopologySpreadConstraints == nil && p.PriorityClassName == "" {
		return nil
	}
	return p
}

// carry moves a value to one of the chart's.
func (m *converted) carry(t *taker, path string, value ...string) {
	if found := get[any](t, path); found != nil && found != "" {
		m.set(found, value...)
	}
}

func (m *converted) set(value any, path ...string) {
	at := m.values
	for _, key := range path[:len(path)-1] {
		below, ok := at[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			at[key] = below
		}
		at = below
	}
	at[path[len(path)-1]] = value
}

// append adds a list to one of the chart's.
func (m *converted) append(more any, key string) {
	var all []any
	for _, list := range []any{m.values[key], more} {
		data, err := json.Marshal(list)
		var items []any
		if err == nil && json.Unmarshal(data, &items) == nil { // it was read from JSON, so it can be written as such
			all = append(all, items...)
		}
	}
	m.values[key] = all
}

func newConverted(name, version string) *converted {
	return &converted{
		model:   &aiv1.AIModel{Spec: aiv1.AIModelSpec{ModelName: name, ModelVersion: version}},
		service: &aiv1.InferenceService{},
		values:  map[string]any{},
	}
}

// resourcesOf leaves out resources that ask for nothing.
func resourcesOf(t *taker, path string) *corev1.ResourceRequirements {
	resources := get[*corev1.ResourceRequirements](t, path)
	if resources == nil || len(resources.Limits)+len(resources.Requests)+len(resources.Claims) == 0 {
		return nil
	}
	return resources
}
