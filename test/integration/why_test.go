package integration

import (
	"bytes"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli"
)

var _ = ginkgo.Describe("kubectl aimodel why", func() {
	ginkgo.It("sees for itself that an autoscaler does not scale, and says what to do though the model is ready", func() {
		needSimulatedPods()
		namespace := newNamespace()
		service := newService(namespace, "s", "m", withAutoscaling(3))
		create(newModel(namespace, "m"), service)
		expectReady(service)
		Eventually(func() []autoscalingv2.HorizontalPodAutoscalerCondition {
			return live(autoscalerOf(namespace, "s-server")).Status.Conditions
		}).WithTimeout(healing).Should(ContainElement(And(
			HaveField("Type", autoscalingv2.ScalingActive), HaveField("Status", corev1.ConditionFalse))))
		Expect(tell(namespace, "why", "s")).NotTo(ContainSubstring(aiv1.ReasonScalingInactive), "it may be without metrics for some minutes")

		// The operator has not said so yet: somebody looks after ten minutes.
		var out, err bytes.Buffer
		code := cli.Run(suiteCtx, []string{"--kubeconfig", kube.Kubeconfig, "why", "s", "-n", namespace}, cli.Options{
			Out: &out, Err: &err, Version: "test", Now: func() time.Time { return time.Now().Add(10 * time.Minute) }})
		Expect(code).To(BeZero(), err.String())
		Expect(refresh(service)).To(Succeed())
		Expect(condition(service, aiv1.ConditionScalingActive).Status).To(BeEquivalentTo("Unknown"))
		Expect(out.String()).To(And(ContainSubstring("InferenceService "+namespace+"/s is ready"),
			MatchRegexp(`seen just now: ScalingInactive: the autoscaler does not scale \(FailedGetResourceMetric\): .*failed to get cpu`),
			MatchRegexp(`HorizontalPodAutoscaler/s-server +wants \d, between 1 and 3, ScalingInactive`), ContainSubstring("metrics-server")))
	})

	ginkgo.It("names the Jobs that fill a claim, and blames none", func() {
		needSimulatedPods()
		namespace := newNamespace()
		size := resource.MustParse("1Gi")
		shared := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: namespace}, Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: shared, StorageClassName: namespace,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}}}}
		ginkgo.DeferCleanup(func() { Expect(k8s.Delete(suiteCtx, volume)).To(Succeed()) })
		create(volume,
			&corev1.PersistentVolumeClaim{ObjectMeta: objectMeta(namespace, "weights"), Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &namespace, AccessModes: shared,
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}}}},
			fetching(namespace, "fails", "evicted"), fetching(namespace, "goes-on", "container-creating"),
			newModel(namespace, "m"))
		service := newService(namespace, "s", "m", withValues(`
podAnnotations: {localkube.dev/behavior: crash-loop}
extraVolumes: [{name: weights, persistentVolumeClaim: {claimName: weights, readOnly: true}}]
extraVolumeMounts: [{name: weights, mountPath: /weights, readOnly: true}]`))
		create(service)
		expectReason(service, aiv1.ReasonCrashLoop)
		Eventually(func() string { return tell(namespace, "why", "s") }).WithTimeout(healing).Should(And(
			MatchRegexp(`Pod/s-server-\S+ .*CrashLoop  ◀ the cause`),
			MatchRegexp(`PersistentVolumeClaim/weights +Bound\n`),
			MatchRegexp(`Job/fails +failed: BackoffLimitExceeded\n`),
			MatchRegexp(`Job/goes-on +not finished, 1 of its pods active\n`)))
	})
})

// fetching is a Job that writes to the claim "weights", whose pods a simulated node plays.
func fetching(namespace, name, behavior string) *batchv1.Job {
	never := int32(0)
	return &batchv1.Job{ObjectMeta: objectMeta(namespace, name), Spec: batchv1.JobSpec{
		BackoffLimit: &never,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"localkube.dev/behavior": behavior}},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers: []corev1.Container{{Name: "fetch", Image: image,
					VolumeMounts: []corev1.VolumeMount{{Name: "to", MountPath: "/to"}}}},
				Volumes: []corev1.Volume{{Name: "to", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "weights"}}}},
			},
		},
	}}
}
