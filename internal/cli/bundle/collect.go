package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/output"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/why"
	"github.com/aimodel-operator/aimodel-operator/internal/volumes"
)

// Bounds of an archive.
const (
	maxLogs     = 60
	maxLogBytes = 2 << 20
	logTimeout  = 10 * time.Second
)

// Collector gathers an archive.
type Collector struct {
	Reader client.Reader
	// Logs reads the logs of pods. Nil leaves them out.
	Logs kubernetes.Interface
	// Tail is how many lines of each log.
	Tail int64
	// Versions is what the version command says.
	Versions any
	// Operator selects the operator's own Deployment and pods.
	Operator client.MatchingLabels
	// Now tells the time.
	Now func() time.Time

	archive *archive
	// missing is what could not be gathered, and why.
	missing []string
	logs    int
}

// Summary says what an archive has.
type Summary struct {
	Namespaces, Models, Pods int
	// Missing is what could not be gathered, and why.
	Missing []string
}

// readme tells whoever opens the archive what there is.
const readme = `A support bundle of aimodel-operator.

version.yaml              of the plugin, the cluster and the operator
cluster/                  nodes, and the operator's definitions
operator/                 its Deployment, pods, events and logs
namespaces/NAME/          of each namespace with models: the models, everything that serves them, pods, claims, the Jobs that can
                          write to those that pods mount, quotas, events
namespaces/NAME/why/      of each model, what "kubectl aimodel why" says
namespaces/NAME/logs/     of each pod, its log and that of its run before
missing.txt               what could not be gathered, and why

No Secret was read. Values that look secret, by their name or their form, are replaced by REDACTED: in objects, events and logs.
Look through it before you hand it on: what nobody could recognise as secret is still in it.
`

// gvks are the kinds that are gathered by the operator's label, in the order of their files.
var byLabel = []schema.GroupVersionKind{
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Version: "v1", Kind: "Service"},
	{Version: "v1", Kind: "ServiceAccount"},
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
	{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"},
}

// whole are the kinds that are gathered whole, for models depend on them.
var whole = []schema.GroupVersionKind{
	{Group: aiv1.Group, Version: "v1", Kind: "AIModel"},
	{Group: aiv1.Group, Version: "v1", Kind: "InferenceService"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "ResourceQuota"},
	{Version: "v1", Kind: "LimitRange"},
}

// Collect writes the archive for the models of a namespace, or of all when it is empty. What cannot be gathered is told in
// the archive; an error is one that ends it all.
func (c *Collector) Collect(ctx context.Context, out io.Writer, namespace string) (*Summary, error) {
	objects, err := c.models(ctx, namespace)
	if err != nil {
		return nil, err
	}
	c.archive = newArchive(out, c.Now())
	summary := &Summary{Models: len(objects)}
	versions, err := yaml.Marshal(c.Versions)
	if err != nil {
		return nil, fmt.Errorf("encode the versions: %w", err)
	}
	failed := []error{c.archive.add(readme, "README.txt"), c.archive.add(string(versions), "version.yaml")}
	failed = append(failed, c.cluster(ctx), c.operator(ctx))
	var namespaces []string
	for _, object := range objects {
		if !slices.Contains(namespaces, object.GetNamespace()) {
			namespaces = append(namespaces, object.GetNamespace())
		}
	}
	slices.Sort(namespaces)
	for _, name := range namespaces {
		pods, err := c.namespace(ctx, name, objects)
		summary.Pods += pods
		failed = append(failed, err)
	}
	summary.Namespaces = len(namespaces)
	if len(c.missing) > 0 {
		failed = append(failed, c.archive.add(strings.Join(c.missing, "\n")+"\n", "missing.txt"))
	}
	failed = append(failed, c.archive.close(), ctx.Err())
	summary.Missing = c.missing
	return summary, errors.Join(failed...)
}

func (c *Collector) models(ctx context.Context, namespace string) ([]access.Object, error) {
	models, services := &aiv1.AIModelList{}, &aiv1.InferenceServiceList{}
	for _, list := range []client.ObjectList{models, services} {
		if err := c.Reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	var objects []access.Object
	for i := range services.Items {
		objects = append(objects, &services.Items[i])
	}
	for i := range models.Items {
		objects = append(objects, &models.Items[i])
	}
	return objects, nil
}

// miss remembers what could not be gathered. That a cluster lacks an optional kind is nothing to tell.
func (c *Collector) miss(what string, err error) {
	if !meta.IsNoMatchError(err) {
		c.missing = append(c.missing, what+": "+redactText(access.Explain(err).Error()))
	}
}

// list gathers the objects of one kind into a file. It returns them as they were read, before anything is taken out.
func (c *Collector) list(ctx context.Context, gvk schema.GroupVersionKind, where []string, keep func(*unstructured.Unstructured) bool,
	options ...client.ListOption,
) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	if err := c.Reader.List(ctx, list, options...); err != nil {
		c.miss(strings.Join(where, "/")+" "+gvk.Kind, err)
		return nil, nil
	}
	if keep != nil {
		list.Items = slices.DeleteFunc(list.Items, func(u unstructured.Unstructured) bool { return !keep(&u) })
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	var text strings.Builder
	for i := range list.Items {
		content := list.Items[i].DeepCopy().Object
		redactObject(content)
		data, err := yaml.Marshal(content)
		if err != nil {
			return nil, fmt.Errorf("encode %s %q: %w", gvk.Kind, list.Items[i].GetName(), err)
		}
		fmt.Fprintf(&text, "---\n%s", data)
	}
	return list.Items, c.archive.add(text.String(), append(slices.Clone(where), strings.ToLower(gvk.Kind)+".yaml")...)
}

func (c *Collector) cluster(ctx context.Context) error {
	// The images of a node are many, and help nobody.
	_, err := c.list(ctx, corev1.SchemeGroupVersion.WithKind("Node"), []string{"cluster"}, func(node *unstructured.Unstructured) bool {
		unstructured.RemoveNestedField(node.Object, "status", "images")
		return true
	})
	crd := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	_, crdErr := c.list(ctx, crd, []string{"cluster"}, func(u *unstructured.Unstructured) bool {
		versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
		for _, version := range versions {
			if fields, ok := version.(map[string]any); ok {
				delete(fields, "schema")
			}
		}
		_ = unstructured.SetNestedSlice(u.Object, versions, "spec", "versions")
		return strings.HasSuffix(u.GetName(), "."+aiv1.Group)
	})
	return errors.Join(err, crdErr)
}

func (c *Collector) operator(ctx context.Context) error {
	kind := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	deployments, err := c.list(ctx, kind, []string{"operator"}, nil, c.Operator)
	pods, podsErr := c.list(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), []string{"operator"}, nil, c.Operator)
	err = errors.Join(err, podsErr)
	if len(deployments) == 0 {
		c.missing = append(c.missing, "operator: no Deployment of it was found, so it runs outside the cluster or you may not see it")
		return err
	}
	_, eventsErr := c.events(ctx, deployments[0].GetNamespace(), []string{"operator"}, append(deployments, pods...))
	return errors.Join(err, eventsErr, c.podLogs(ctx, pods, "operator", "logs"))
}

// namespace gathers what there is about the models of one namespace, and returns how many pods it has.
func (c *Collector) namespace(ctx context.Context, name string, objects []access.Object) (int, error) {
	where := []string{"namespaces", name}
	var failed []error
	var all []unstructured.Unstructured
	for _, gvk := range whole {
		found, err := c.list(ctx, gvk, where, nil, client.InNamespace(name))
		failed, all = append(failed, err), append(all, found...)
	}
	ours := client.MatchingLabels{aiv1.LabelManagedBy: aiv1.ManagedBy}
	for _, gvk := range byLabel {
		found, err := c.list(ctx, gvk, where, nil, client.InNamespace(name), ours)
		failed, all = append(failed, err), append(all, found...)
	}
	pods, err := c.list(ctx, corev1.SchemeGroupVersion.WithKind("Pod"), where, nil, client.InNamespace(name), ours)
	failed, all = append(failed, err), append(all, pods...)
	jobs, err := c.fillers(ctx, name, where, pods)
	failed, all = append(failed, err), append(all, jobs...)
	_, err = c.events(ctx, name, where, all)
	failed = append(failed, err, c.stories(ctx, name, objects), c.podLogs(ctx, pods, "namespaces", name, "logs"))
	return len(pods), errors.Join(failed...)
}

// fillers gathers the Jobs that can write to a claim that one of the pods mounts: they may be what brings the weights.
func (c *Collector) fillers(
	ctx context.Context, namespace string, where []string, pods []unstructured.Unstructured,
) ([]unstructured.Unstructured, error) {
	mounted := map[string]bool{}
	for i := range pods {
		for _, volume := range podSpec(&pods[i], "spec").Volumes {
			if claim := volume.PersistentVolumeClaim; claim != nil {
				mounted[claim.ClaimName] = true
			}
		}
	}
	if len(mounted) == 0 {
		return nil, nil
	}
	return c.list(ctx, batchv1.SchemeGroupVersion.WithKind("Job"), where, func(job *unstructured.Unstructured) bool {
		written := volumes.WritableClaims(podSpec(job, "spec", "template", "spec"))
		return slices.ContainsFunc(written, func(claim string) bool { return mounted[claim] })
	}, client.InNamespace(namespace))
}

// podSpec is what an object has at the path, and empty where that is no spec of a pod.
func podSpec(object *unstructured.Unstructured, path ...string) *corev1.PodSpec {
	spec := &corev1.PodSpec{}
	content, _, _ := unstructured.NestedMap(object.Object, path...)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, spec); err != nil {
		return &corev1.PodSpec{}
	}
	return spec
}

// events gathers the events about some objects.
func (c *Collector) events(
	ctx context.Context, namespace string, where []string, about []unstructured.Unstructured,
) ([]unstructured.Unstructured, error) {
	uids := map[string]bool{}
	for i := range about {
		uids[string(about[i].GetUID())] = true
	}
	return c.list(ctx, corev1.SchemeGroupVersion.WithKind("Event"), where, func(event *unstructured.Unstructured) bool {
		uid, _, _ := unstructured.NestedString(event.Object, "involvedObject", "uid")
		return uid != "" && uids[uid]
	}, client.InNamespace(namespace))
}

// stories tells of each model why it is as it is.
func (c *Collector) stories(ctx context.Context, namespace string, objects []access.Object) error {
	teller := &why.Teller{Reader: c.Reader, Now: c.Now}
	for _, object := range objects {
		if object.GetNamespace() != namespace {
			continue
		}
		what := access.KindOf(object) + "-" + object.GetName()
		story, err := teller.Tell(ctx, object)
		if err != nil {
			c.miss("why of "+namespace+"/"+what, err)
			continue
		}
		var text bytes.Buffer
		if err := why.Write(&text, output.Style{}, c.Now(), story); err != nil {
			return err
		}
		if err := c.archive.add(redactText(text.String()), "namespaces", namespace, "why", what+".txt"); err != nil {
			return err
		}
	}
	return nil
}
