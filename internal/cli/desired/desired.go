package desired

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/apply"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/manifest"
	"github.com/aimodel-operator/aimodel-operator/internal/render"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// Source knows what objects refer to.
type Source interface {
	// Model is the AIModel of that name, or nil.
	Model(context.Context, types.NamespacedName) (*aiv1.AIModel, error)
	// Credentials is what is known of the Secret of that name, or nil.
	Credentials(context.Context, types.NamespacedName) (*resolve.Credentials, error)
}

// Maker makes what the operator would apply.
type Maker struct {
	// Sources are asked in this order.
	Sources []Source
	// Warn is told of what had to be assumed.
	Warn func(format string, args ...any)
	// Site is what the operator's environment says.
	Site resolve.Site

	builder manifest.Builder
	// assumed are the Secrets that a warning told of.
	assumed map[types.NamespacedName]bool
}

// NewMaker loads the charts.
func NewMaker(warn func(string, ...any), sources ...Source) (*Maker, error) {
	renderer, err := render.New()
	if err != nil {
		return nil, fmt.Errorf("load the charts: %w", err)
	}
	scheme, err := access.Scheme()
	if err != nil {
		return nil, err
	}
	return &Maker{
		Sources: sources, Warn: warn,
		builder: manifest.Builder{Renderer: renderer, Scheme: scheme},
		assumed: map[types.NamespacedName]bool{},
	}, nil
}

// Made is what the operator would apply for one object.
type Made struct {
	Owner   access.Object
	Objects []apply.Object
	// Idle says why there is nothing to apply. Empty when there is something.
	Idle string

	inputs *resolve.Inputs
}

// Make makes what the operator would apply for an object.
func (m *Maker) Make(ctx context.Context, object access.Object) (*Made, error) {
	made := &Made{Owner: object}
	var err error
	switch o := object.(type) {
	case *aiv1.AIModel:
		err = m.resolveModel(ctx, made, o)
	case *aiv1.InferenceService:
		err = m.resolveService(ctx, made, o)
	}
	if err == nil && made.inputs != nil {
		made.inputs.Site = m.Site
		made.Objects, err = m.build(object, *made.inputs)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", access.KindOf(object), object.GetName(), err)
	}
	return made, nil
}

func (m *Maker) build(object access.Object, inputs resolve.Inputs) ([]apply.Object, error) {
	owner := *metav1.NewControllerRef(object, aiv1.GroupVersion.WithKind(access.KindOf(object)))
	set, err := m.builder.Build(object.GetNamespace(), inputs.Owner.ChildName, owner, inputs)
	if err != nil {
		return nil, err
	}
	return set.Objects, nil
}

func (m *Maker) resolveModel(ctx context.Context, made *Made, model *aiv1.AIModel) error {
	switch {
	case resolve.IsURL(model.Spec.Endpoint):
		made.Idle = "it is served at " + model.Spec.Endpoint
		return nil
	case model.Spec.Image == "":
		made.Idle = "it has no image, and only InferenceServices run it"
		return nil
	}
	credentials, err := m.credentials(ctx, model)
	if err != nil {
		return err
	}
	inputs := resolve.FromAIModel(model, credentials)
	made.inputs = &inputs
	return nil
}

func (m *Maker) resolveService(ctx context.Context, made *Made, svc *aiv1.InferenceService) error {
	key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Spec.ModelRef.Name}
	var model *aiv1.AIModel
	for _, source := range m.Sources {
		found, err := source.Model(ctx, key)
		if err != nil {
			return err
		}
		if model == nil {
			model = found
		}
	}
	if model == nil {
		return fmt.Errorf("its AIModel %q is not there: add it to the files, as another document of namespace %q", key.Name, key.Namespace)
	}
	if resolve.IsURL(model.Spec.Endpoint) {
		made.Idle = fmt.Sprintf("its AIModel %q is served at %s", model.Name, model.Spec.Endpoint)
		return nil
	}
	credentials, err := m.credentials(ctx, model)
	if err != nil {
		return err
	}
	inputs := resolve.FromInferenceService(svc, model, credentials)
	made.inputs = &inputs
	return nil
}

func (m *Maker) credentials(ctx context.Context, model *aiv1.AIModel) (*resolve.Credentials, error) {
	ref := model.Spec.CredentialsRef
	if ref == nil {
		return nil, nil
	}
	if ref.Namespace != "" && ref.Namespace != model.Namespace {
		return nil, fmt.Errorf("credentialsRef names namespace %q; only a Secret of its own namespace %q can be used",
			ref.Namespace, model.Namespace)
	}
	key := types.NamespacedName{Namespace: model.Namespace, Name: ref.Name}
	for _, source := range m.Sources {
		found, err := source.Credentials(ctx, key)
		if found != nil || err != nil {
			return found, err
		}
	}
	if m.assumed[key] {
		return &resolve.Credentials{SecretName: key.Name}, nil
	}
	m.assumed[key] = true
	m.Warn("Secret %q is not there, so it is taken for one whose keys become environment variables. "+
		"Were it a docker-config Secret or one with a Hugging Face token, other objects would be made: add it to the files, "+
		"if only with the names of its keys.", key.Name)
	return &resolve.Credentials{SecretName: key.Name}, nil
}

// Manifests are the objects as they are created. What depends on the identity of an owner that does not exist yet is left
// out: the uid of the owner reference, and the digest, which covers it.
func (m *Made) Manifests() []*unstructured.Unstructured {
	manifests := make([]*unstructured.Unstructured, 0, len(m.Objects))
	for _, object := range m.Objects {
		u := object.Manifest()
		if m.Owner.GetUID() == "" {
			forgetIdentity(u)
		}
		manifests = append(manifests, u)
	}
	return manifests
}

func forgetIdentity(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", aiv1.AnnotationApplied)
	if len(u.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
	}
	references, _, _ := unstructured.NestedSlice(u.Object, "metadata", "ownerReferences")
	for _, reference := range references {
		if fields, ok := reference.(map[string]any); ok {
			delete(fields, "uid")
		}
	}
	_ = unstructured.SetNestedSlice(u.Object, references, "metadata", "ownerReferences")
}

// Live is the Source that asks the cluster.
type Live struct{ Reader client.Reader }

// Model reads the AIModel.
func (l Live) Model(ctx context.Context, key types.NamespacedName) (*aiv1.AIModel, error) {
	model := &aiv1.AIModel{}
	if err := l.Reader.Get(ctx, key, model); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return model, nil
}

// Credentials reads the Secret, and keeps its type and the names of its keys.
func (l Live) Credentials(ctx context.Context, key types.NamespacedName) (*resolve.Credentials, error) {
	secret := &corev1.Secret{}
	if err := l.Reader.Get(ctx, key, secret); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read Secret %q for the names of its keys: %w", key.Name, err)
	}
	credentials := resolve.CredentialsOf(secret)
	return &credentials, nil
}
