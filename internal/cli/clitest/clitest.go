// Package clitest holds what the tests of the kubectl plugin share: objects from files, a client that serves them, golden
// files. Only tests import it.
package clitest

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
)

// Objects reads the objects of a YAML file.
func Objects(t testing.TB, file string) []client.Object {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := access.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var objects []client.Object
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		decoded, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v\n%s", file, err, document)
		}
		object, ok := decoded.(client.Object)
		if !ok {
			t.Fatalf("%s: %T is no object", file, decoded)
		}
		objects = append(objects, object)
	}
	return objects
}

// Client serves objects.
func Client(t testing.TB, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme, err := access.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	// An API server knows these fields without being told.
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(objects...).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(object client.Object) []string {
			pod, _ := object.(*corev1.Pod)
			return []string{pod.Spec.NodeName}
		}).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(object client.Object) []string {
			event, _ := object.(*corev1.Event)
			return []string{string(event.InvolvedObject.UID)}
		}).Build()
}

// Golden compares a text with a golden file, or rewrites the file.
func Golden(t testing.TB, file string, got []byte, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: run the test with -update", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); run with -update if that is meant:\n%s", file, diff)
	}
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// WithoutColours takes the colours out of a text.
func WithoutColours(text string) string { return colours.ReplaceAllString(text, "") }
