package why

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secretWatcher fails a test that reads more of a Secret than its metadata.
type secretWatcher struct {
	client.Reader
	t     *testing.T
	asked int
}

func (w *secretWatcher) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, whole := object.(*corev1.Secret); whole {
		w.t.Error("a Secret was read with its content")
	}
	if metadata, ok := object.(*metav1.PartialObjectMetadata); ok && metadata.Kind == "Secret" {
		w.asked++
	}
	return w.Reader.Get(ctx, key, object, options...)
}
