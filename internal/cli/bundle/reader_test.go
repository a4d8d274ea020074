package bundle

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// noSecrets fails a test that reads more of a Secret than its metadata.
type noSecrets struct {
	client.Client
	t *testing.T
}

func (n *noSecrets) check(object any) {
	if _, metadata := object.(*metav1.PartialObjectMetadata); metadata {
		return
	}
	if kinded, ok := object.(interface{ GetKind() string }); ok && strings.HasPrefix(kinded.GetKind(), "Secret") {
		n.t.Error("Secrets were read")
	}
	switch object.(type) {
	case *corev1.Secret, *corev1.SecretList:
		n.t.Error("Secrets were read")
	}
}

func (n *noSecrets) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	n.check(object)
	return n.Client.Get(ctx, key, object, options...)
}

func (n *noSecrets) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	n.check(list)
	return n.Client.List(ctx, list, options...)
}
