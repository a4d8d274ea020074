package why

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/facts"
)

// Teller gathers stories.
type Teller struct {
	Reader client.Reader
	// Now tells the time.
	Now func() time.Time
}

// Tell gathers the story of an object that was just read.
func (t *Teller) Tell(ctx context.Context, object access.Object) (*Story, error) {
	story := &Story{
		Kind: access.KindOf(object), Namespace: object.GetNamespace(), Name: object.GetName(),
		Ready: string(metav1.ConditionUnknown), Reason: "NotLookedAt",
		Message: "the operator has not looked at it yet: check that the operator runs and watches this namespace",
	}
	if ready := meta.FindStatusCondition(object.GetConditions(), aiv1.ConditionReady); ready != nil {
		story.Ready, story.Reason, story.Message = string(ready.Status), ready.Reason, ready.Message
		story.Since = ready.LastTransitionTime.Time
		if ready.ObservedGeneration < object.GetGeneration() {
			story.Message += " (the operator has not looked at the latest change yet)"
		}
	}
	story.Tree = t.root(story, object)
	if err := t.references(ctx, story.Tree, object); err != nil {
		return nil, err
	}
	if err := t.children(ctx, story, object); err != nil {
		return nil, err
	}
	if err := t.events(ctx, story.Tree, object.GetNamespace()); err != nil {
		return nil, err
	}
	markCause(story, object.GetServingStatus().Failure)
	return story, nil
}

func (t *Teller) root(story *Story, object access.Object) *Part {
	root := &Part{Kind: story.Kind, Name: story.Name, uid: string(object.GetUID()), State: story.Reason, Health: Broken}
	switch story.Ready {
	case string(metav1.ConditionTrue):
		root.Health = Fine
	case string(metav1.ConditionUnknown):
		root.Health = Unknown
	default:
		if meta.IsStatusConditionTrue(object.GetConditions(), aiv1.ConditionProgressing) {
			root.Health = Waiting
		}
	}
	if object.GetAnnotations()[aiv1.AnnotationPaused] == "true" {
		root.note("it is paused: `kubectl aimodel resume " + access.Short(story.Kind, story.Name) + "` lets the operator go on")
	}
	root.note(phases(object.GetServingStatus().Phases))
	for _, condition := range object.GetConditions() {
		told := condition.Reason == story.Reason || condition.Type == aiv1.ConditionReady
		if condition.Status == metav1.ConditionTrue || told || condition.Message == "" || condition.Type == aiv1.ConditionProgressing {
			continue
		}
		root.note(fmt.Sprintf("%s is %s, %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	return root
}

// phases says where the time of the last start went.
func phases(took *aiv1.Phases) string {
	if took == nil {
		return ""
	}
	text := fmt.Sprintf("its last start took %s", seconds(took.ReadySeconds))
	separator := ": "
	for _, part := range []struct {
		name string
		took *int64
	}{
		{"scheduling", took.SchedulingSeconds}, {"preparing", took.PreparingSeconds},
		{"fetching the weights", took.WeightsSeconds}, {"pulling the image", took.ImagePullSeconds}, {"starting", took.StartSeconds},
	} {
		if part.took != nil {
			text += separator + part.name + " " + seconds(*part.took)
			separator = ", "
		}
	}
	return text
}

func seconds(count int64) string { return (time.Duration(count) * time.Second).String() }

// references adds the model of a service, and the Secret of a model.
func (t *Teller) references(ctx context.Context, root *Part, object access.Object) error {
	switch o := object.(type) {
	case *aiv1.AIModel:
		return t.secret(ctx, root, o)
	case *aiv1.InferenceService:
		part := &Part{Kind: "AIModel", Name: o.Spec.ModelRef.Name, Health: Fine}
		root.add(part)
		model := &aiv1.AIModel{}
		err := t.Reader.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: part.Name}, model)
		if apierrors.IsNotFound(err) {
			part.Health, part.State, part.reason = Broken, "missing", aiv1.ReasonModelNotFound
			return nil
		}
		if err != nil {
			return err
		}
		part.uid, part.Health, part.State = string(model.UID), Unknown, "not looked at yet"
		if resolved := meta.FindStatusCondition(model.Status.Conditions, aiv1.ConditionResolved); resolved != nil {
			part.Health, part.State = Fine, "found"
			if resolved.Status != metav1.ConditionTrue {
				part.Health, part.State, part.reason = Broken, resolved.Reason, resolved.Reason
				part.note(resolved.Message)
			}
		}
		return t.secret(ctx, part, model)
	}
	return nil
}

// secret adds the Secret of a model. Only its metadata is asked for.
func (t *Teller) secret(ctx context.Context, parent *Part, model *aiv1.AIModel) error {
	ref := model.Spec.CredentialsRef
	if ref == nil {
		return nil
	}
	part := &Part{Kind: "Secret", Name: ref.Name, Health: Fine, State: "present"}
	parent.add(part)
	if ref.Namespace != "" && ref.Namespace != model.Namespace {
		part.Health, part.reason = Broken, aiv1.ReasonSecretNamespace
		part.State = fmt.Sprintf("in namespace %q, which is not the model's own", ref.Namespace)
		return nil
	}
	found, err := t.exists(ctx, corev1.SchemeGroupVersion.WithKind("Secret"), model.Namespace, ref.Name)
	switch {
	case apierrors.IsForbidden(err):
		part.Health, part.State = Unknown, "you may not look whether it is there"
		return nil
	case err != nil:
		return err
	case found == nil:
		part.Health, part.State, part.reason = Broken, "missing", aiv1.ReasonSecretNotFound
	}
	return nil
}

// exists reads the metadata of an object. Nil: there is none.
func (t *Teller) exists(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(gvk)
	err := t.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	return found, err
}

// children adds what the operator keeps for the object.
func (t *Teller) children(ctx context.Context, story *Story, object access.Object) error {
	for _, entry := range object.GetServingStatus().Inventory {
		part, err := t.child(ctx, story, object, entry)
		if err != nil {
			return err
		}
		story.Tree.add(part)
	}
	return nil
}

func (t *Teller) child(ctx context.Context, story *Story, object access.Object, entry aiv1.InventoryEntry) (*Part, error) {
	part := &Part{Kind: entry.Kind, Name: entry.Name, Health: Fine, State: "present"}
	found, err := t.exists(ctx, schema.FromAPIVersionAndKind(entry.APIVersion, entry.Kind), object.GetNamespace(), entry.Name)
	switch {
	case apierrors.IsForbidden(err):
		part.Health, part.State = Unknown, "you may not look at it"
		return part, nil
	case err != nil:
		return nil, err
	case found == nil:
		part.Health, part.State = Broken, "missing"
		return part, nil
	case !metav1.IsControlledBy(found, object):
		part.Health, part.State, part.foreign = Broken, "belongs to somebody else, so it is left alone", true
		return part, nil
	}
	part.uid = string(found.UID)
	key := client.ObjectKeyFromObject(found)
	switch entry.Kind {
	case "Deployment":
		return part, t.deployment(ctx, story, object, part, key)
	case "PodDisruptionBudget":
		return part, t.budget(ctx, part, key)
	case "HorizontalPodAutoscaler":
		return part, t.autoscaler(ctx, story, part, key)
	}
	return part, nil
}

// deployment adds the ReplicaSets that have pods or want some, their pods, and the claims that these mount.
func (t *Teller) deployment(ctx context.Context, story *Story, object access.Object, part *Part, key client.ObjectKey) error {
	deployment := &appsv1.Deployment{}
	if err := t.Reader.Get(ctx, key, deployment); err != nil {
		return client.IgnoreNotFound(err)
	}
	status := deployment.Status
	part.State, part.Health = counts(status.AvailableReplicas, deref(deployment.Spec.Replicas), "available")
	for _, condition := range deployment.Status.Conditions {
		failing := condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue
		stuck := condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse
		if failing || stuck {
			part.Health = Broken
			part.note(fmt.Sprintf("%s: %s", condition.Reason, condition.Message))
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return fmt.Errorf("read the selector of Deployment %q: %w", deployment.Name, err)
	}
	sets, pods := &appsv1.ReplicaSetList{}, &corev1.PodList{}
	for _, list := range []client.ObjectList{sets, pods} {
		err := t.Reader.List(ctx, list, client.InNamespace(deployment.Namespace), client.MatchingLabelsSelector{Selector: selector})
		if err != nil {
			return err
		}
	}
	known := t.diagnose(ctx, story, object, deployment, facts.CurrentHash(deployment, sets.Items), pods.Items)
	replicaSets(part, deployment, sets.Items, known)
	for _, volume := range deployment.Spec.Template.Spec.Volumes {
		if volume.PersistentVolumeClaim == nil {
			continue
		}
		if err := t.claim(ctx, part, key.Namespace, volume.PersistentVolumeClaim.ClaimName); err != nil {
			return err
		}
	}
	if story.Ready != string(metav1.ConditionTrue) {
		fillers(part, &known)
	}
	return nil
}

func (t *Teller) claim(ctx context.Context, parent *Part, namespace, name string) error {
	part := &Part{Kind: "PersistentVolumeClaim", Name: name, Health: Fine}
	parent.add(part)
	claim := &corev1.PersistentVolumeClaim{}
	err := t.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim)
	switch {
	case apierrors.IsNotFound(err):
		part.Health, part.State, part.reason = Broken, "missing", aiv1.ReasonVolumeNotBound
	case apierrors.IsForbidden(err):
		part.Health, part.State = Unknown, "you may not look at it"
	case err != nil:
		return err
	default:
		part.uid, part.State = string(claim.UID), string(claim.Status.Phase)
		if claim.Status.Phase != corev1.ClaimBound {
			part.Health, part.reason = Waiting, aiv1.ReasonVolumeNotBound
		}
	}
	return nil
}

func replicaSets(parent *Part, deployment *appsv1.Deployment, sets []appsv1.ReplicaSet, known diagnose.Facts) {
	// The newest first: it is the one that a rollout is about.
	slices.SortFunc(sets, func(a, b appsv1.ReplicaSet) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	slices.SortFunc(known.Pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for i := range sets {
		set := &sets[i]
		if !metav1.IsControlledBy(set, deployment) || (deref(set.Spec.Replicas) == 0 && set.Status.Replicas == 0) {
			continue
		}
		part := &Part{Kind: "ReplicaSet", Name: set.Name, uid: string(set.UID)}
		part.State, part.Health = counts(set.Status.ReadyReplicas, deref(set.Spec.Replicas), "ready")
		for _, condition := range set.Status.Conditions {
			if condition.Type == appsv1.ReplicaSetReplicaFailure && condition.Status == corev1.ConditionTrue {
				part.Health, part.reason = Broken, aiv1.ReasonPodsRefused
				part.note(condition.Message)
			}
		}
		parent.add(part)
		for j := range known.Pods {
			if metav1.IsControlledBy(&known.Pods[j], set) {
				part.add(podPart(known, &known.Pods[j]))
			}
		}
		sayOnce(part.Parts)
	}
}

// sayOnce keeps only the first of equal notes of several replicas.
func sayOnce(pods []*Part) {
	said := map[string]bool{}
	for _, pod := range pods {
		pod.Notes = slices.DeleteFunc(pod.Notes, func(note string) bool { return said[note] })
		for _, note := range pod.Notes {
			said[note] = true
		}
	}
}

func counts(have, want int32, what string) (string, Health) {
	health := Fine
	if have < want {
		health = Waiting
	}
	return fmt.Sprintf("%d of %d %s", have, want, what), health
}

func deref(count *int32) int32 {
	if count == nil {
		return 1
	}
	return *count
}
