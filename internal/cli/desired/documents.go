// Package desired tells what the operator would apply for an object, and how that differs from what is there. It goes through
// the same steps as the operator, needs no cluster for what stands in files, and changes nothing.
package desired

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
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
	files, err := expand(names)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if err := documents.readFile(name, stdin, namespace); err != nil {
			return nil, err
		}
	}
	return documents, nil
}

// expand puts the files of a folder in its place.
func expand(names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case name == "-" || (err == nil && !info.IsDir()):
			files = append(files, name)
			continue
		case err != nil:
			return nil, fmt.Errorf("read the file: %w", err)
		}
		for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
			found, err := filepath.Glob(filepath.Join(name, pattern))
			if err != nil {
				return nil, fmt.Errorf("read the folder: %w", err)
			}
			files = append(files, found...)
		}
	}
	return files, nil
}

func (d *Documents) readFile(name string, stdin io.Reader, namespace string) error {
	in := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("read the file: %w", err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	reader := utilyaml.NewYAMLReader(bufio.NewReader(in))
	for {
		data, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if err := d.add(data, namespace); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
	}
}

// document is what tells of what kind a document is.
type document struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Items           []any             `json:"items"`
}

func (d *Documents) add(data []byte, namespace string) error {
	var head document
	if err := yaml.Unmarshal(data, &head); err != nil {
		return err
	}
	gv, kind := head.APIVersion, head.Kind
	switch {
	case gv == "" && kind == "" && strings.TrimSpace(string(data)) == "", isComment(data):
		return nil
	case strings.HasSuffix(kind, "List") && head.Items != nil:
		for _, item := range head.Items {
			encoded, err := yaml.Marshal(item)
			if err != nil {
				return err
			}
			if err := d.add(encoded, namespace); err != nil {
				return err
			}
		}
		return nil
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

func isComment(data []byte) bool {
	return !slices.ContainsFunc(strings.Split(string(data), "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line != "" && line != "---" && !strings.HasPrefix(line, "#")
	})
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
