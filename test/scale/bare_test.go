package scale

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/test/cluster"
)

// twinNamespace keeps what a bare client creates apart from what the operator did.
const twinNamespace = "scale-bare"

// twins are the objects that the operator makes for a service, for a client that makes them without it.
type twins struct {
	account    *corev1.ServiceAccount
	deployment *appsv1.Deployment
	service    *corev1.Service
	seen       *progress
}

// newTwins takes the children of one service as they stand.
func newTwins(ctx context.Context, t *testing.T, c *cluster.Cluster, kube client.Client) *twins {
	t.Helper()
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: twinNamespace}}))
	w := &twins{account: &corev1.ServiceAccount{}, deployment: &appsv1.Deployment{}, service: &corev1.Service{}}
	for _, object := range []client.Object{w.account, w.deployment, w.service} {
		must(t, kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "s0-server"}, object))
	}
	w.deployment.Status = appsv1.DeploymentStatus{}
	w.service.Spec.ClusterIP, w.service.Spec.ClusterIPs = "", nil
	w.seen = follow(ctx, t, c, kube.Scheme(), twinNamespace)
	return w
}

func (w *twins) of(name string) []client.Object {
	mark := map[string]string{"app": name}
	meta := metav1.ObjectMeta{Namespace: twinNamespace, Name: name, Labels: mark}
	account, deployment, service := w.account.DeepCopy(), w.deployment.DeepCopy(), w.service.DeepCopy()
	account.ObjectMeta, deployment.ObjectMeta, service.ObjectMeta = meta, meta, meta
	deployment.Spec.Selector.MatchLabels, deployment.Spec.Template.Labels, service.Spec.Selector = mark, mark, mark
	deployment.Spec.Template.Spec.ServiceAccountName = name
	return []client.Object{account, deployment, service}
}

// bareDeployment is what a client without any operator would create.
func bareDeployment(name string) []client.Object {
	labels := map[string]string{"app": name}
	return []client.Object{&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bare-" + name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "registry.local/server:1"}}},
			},
		},
	}}
}
