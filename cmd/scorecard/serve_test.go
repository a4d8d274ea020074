package main

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestTheOwnImage holds that a test which runs in a pod finds the image that can serve the samples: its own.
func TestTheOwnImage(t *testing.T) {
	hostname, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "tests", Name: hostname},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "scorecard-test", Image: "example.com/scorecard:1"}}},
	}
	for name, tc := range map[string]struct {
		server    string
		there     []client.Object
		want, err string
	}{
		"in a pod":                 {server: "10.96.0.1", there: []client.Object{pod}, want: "example.com/scorecard:1"},
		"in a pod that is unknown": {server: "10.96.0.1", err: "--image names no other"},
		"outside the cluster":      {there: []client.Object{pod}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", tc.server)
			c := &check{client: fake.NewClientBuilder().WithObjects(tc.there...).Build(), namespace: "tests"}
			got, err := c.ownImage(t.Context())
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %q, %v, want %q, %q", got, err, tc.want, tc.err)
			}
		})
	}
}
