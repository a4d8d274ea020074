// Package desired tells what the operator would apply for an object, and how that differs from what is there. It goes through
// the same steps as the operator, needs no cluster for what stands in files, and changes nothing.
package desired

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/files"
	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// Documents are the objects of some files.
type Documents struct {
	// Objects are the AIModels and InferenceServices, in the order of the files.
	Objects []access.Object
	// Others names what is neither, nor a Secret.
	Others []string

	models  map[types.NamespacedName]*aiv1.AIModel
	secrets map[types.NamespacedName]resolve.Credentials
}

// ReadFiles reads files, folders of files, and standard input where a name is "-". What has no namespace gets the given one.
func ReadFiles(names []string, stdin io.Reader, namespace string) (*Documents, error) {
	documents := &Documents{models: map[types.NamespacedName]*aiv1.AIModel{}, secrets: map[types.NamespacedName]resolve.Credentials{}}
	err := files.Read(names, stdin, func(data []byte) error { return documents.add(data, namespace) })
	return documents, err
}

// document is what tells of what kind a document is.
type document struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        struct{ Name string } `json:"metadata"`
}

func (d *Documents) add(data []byte, namespace string) error {
	var head document
	if err := yaml.Unmarshal(data, &head); err != nil {
		return err
	}
	gv, kind := head.APIVersion, head.Kind
	switch {
	case gv == aiv1.GroupVersion.String() && kind == resolve.KindAIModel:
		return d.addObject(data, &aiv1.AIModel{}, namespace)
	case gv == aiv1.GroupVersion.String() && kind == resolve.KindInferenceService:
		return d.addObject(data, &aiv1.InferenceService{}, namespace)
	case gv == "v1" && kind == "Secret":
		return d.addSecret(data, namespace)
	case kind == "":
		return errors.New("a document has no kind")
	}
	d.Others = append(d.Others, kind+"/"+head.Metadata.Name)
	return nil
}

func (d *Documents) addObject(data []byte, object access.Object, namespace string) error {
	if err := decodeStrict(data, object); err != nil {
		return fmt.Errorf("%s: %w", access.KindOf(object), err)
	}
	if object.GetName() == "" {
		return fmt.Errorf("a document of kind %s has no name", access.KindOf(object))
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	d.Objects = append(d.Objects, object)
	if model, ok := object.(*aiv1.AIModel); ok {
		d.models[keyOf(model)] = model
	}
	return nil
}

// decodeStrict refuses what the API server would drop without a word: fields that it does not know.
func decodeStrict(data []byte, object access.Object) error {
	encoded, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return err
	}
	strict, err := kjson.UnmarshalStrict(encoded, object)
	return errors.Join(append(strict, err)...)
}

// addSecret keeps the type of a Secret and the names of its keys.
func (d *Documents) addSecret(data []byte, namespace string) error {
	secret := &corev1.Secret{}
	if err := yaml.Unmarshal(data, secret); err != nil {
		// The decoder quotes what it cannot read, and that is secret.
		return errors.New("a Secret cannot be read: its data must be base64, or use stringData")
	}
	if secret.Namespace == "" {
		secret.Namespace = namespace
	}
	for key := range secret.StringData {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = nil
	}
	d.secrets[keyOf(secret)] = resolve.CredentialsOf(secret)
	return nil
}

// Model is the AIModel of that name. Nil when it is not in the files.
func (d *Documents) Model(_ context.Context, key types.NamespacedName) (*aiv1.AIModel, error) {
	return d.models[key], nil
}

// Credentials is what is known of the Secret of that name. Nil when it is not in the files.
func (d *Documents) Credentials(_ context.Context, key types.NamespacedName) (*resolve.Credentials, error) {
	if found, ok := d.secrets[key]; ok {
		return &found, nil
	}
	return nil, nil
}

func keyOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}
