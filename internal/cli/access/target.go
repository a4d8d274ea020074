package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// Object is one object of either kind.
type Object interface {
	client.Object
	GetConditions() []metav1.Condition
	GetServingStatus() *aiv1.ServingStatus
}

// KindOf tells the kind of an object of the operator's.
func KindOf(object Object) string {
	if _, ok := object.(*aiv1.AIModel); ok {
		return resolve.KindAIModel
	}
	return resolve.KindInferenceService
}

// shortNames are the names by which the kinds go, in the order in which they are tried.
var shortNames = map[string]string{
	"inferenceservice": resolve.KindInferenceService, "inferenceservices": resolve.KindInferenceService,
	"infsvc":  resolve.KindInferenceService,
	"aimodel": resolve.KindAIModel, "aimodels": resolve.KindAIModel, "aim": resolve.KindAIModel,
}

// Short is the shortest way to write an object so that Find finds it.
func Short(kind, name string) string {
	if kind == resolve.KindAIModel {
		return "aim/" + name
	}
	return "infsvc/" + name
}

// parse splits KIND/NAME. The kind is empty when none was given.
func parse(argument string) (kind, name string, err error) {
	before, after, found := strings.Cut(argument, "/")
	if !found {
		return "", argument, nil
	}
	resource, group, _ := strings.Cut(strings.ToLower(before), ".")
	kind = shortNames[resource]
	if kind == "" || (group != "" && group != aiv1.Group) {
		return "", "", fmt.Errorf("%q is neither an AIModel nor an InferenceService: write aim/NAME or infsvc/NAME", before)
	}
	if after == "" {
		return "", "", fmt.Errorf("%q has no name: write %s", argument, Short(kind, "NAME"))
	}
	return kind, after, nil
}

// Find reads the object that an argument names: NAME, or KIND/NAME where both kinds have one of that name. Of two of one
// name it is the one that runs something.
func Find(ctx context.Context, reader client.Reader, namespace, argument string) (Object, error) {
	kind, name, err := parse(argument)
	if err != nil {
		return nil, err
	}
	var found []Object
	for _, object := range []Object{&aiv1.InferenceService{}, &aiv1.AIModel{}} {
		if kind != "" && kind != KindOf(object) {
			continue
		}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
		if apierrors.IsNotFound(err) && !isMissingResource(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, object)
	}
	switch len(found) {
	case 0:
		return nil, notFound(ctx, reader, namespace, kind, name)
	case 1:
		return found[0], nil
	}
	if model, ok := found[1].(*aiv1.AIModel); ok && model.Spec.Image == "" {
		return found[0], nil
	}
	return nil, fmt.Errorf("there are an InferenceService and an AIModel called %q, and both run something: write %s or %s",
		name, Short(resolve.KindInferenceService, name), Short(resolve.KindAIModel, name))
}

// ErrNotFound is what Find returns, among other words, when there is no such object.
var ErrNotFound = errors.New("not found")

func notFound(ctx context.Context, reader client.Reader, namespace, kind, name string) error {
	what := kind
	if what == "" {
		what = "AIModel or InferenceService"
	}
	text := fmt.Sprintf("there is no %s %q in namespace %q", what, name, namespace)
	names, err := Names(ctx, reader, namespace)
	switch {
	case err != nil || len(names) == 0:
		text += ": choose another namespace with -n, or see all with `kubectl aimodel status -A`"
	case len(names) <= 5:
		text += "; there are " + strings.Join(names, ", ")
	default:
		text += fmt.Sprintf("; there are %s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return &explained{text: text, cause: ErrNotFound}
}

// Names lists what an argument can name, in the shortest way that is not ambiguous.
func Names(ctx context.Context, reader client.Reader, namespace string) ([]string, error) {
	models, services := &aiv1.AIModelList{}, &aiv1.InferenceServiceList{}
	for _, list := range []client.ObjectList{models, services} {
		if err := reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	taken := map[string]bool{}
	var names []string
	for i := range services.Items {
		taken[services.Items[i].Name] = true
		names = append(names, services.Items[i].Name)
	}
	for i := range models.Items {
		name := models.Items[i].Name
		if taken[name] {
			name = Short(resolve.KindAIModel, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}
