package integration

import (
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var _ = describeOwnOperators("A claim that Jobs fill", func() {
	ginkgo.It("is told of while its Job has failed and the server crashes, and no longer than that", func() {
		needSimulatedPods()
		namespace := newNamespace()
		o := runOperator(operatorSettings{namespaces: []string{namespace}})
		createClaim(namespace, "weights")
		healthy := newService(namespace, "healthy", "m", onClaim)
		service := newService(namespace, "s", "m", crashingOnClaim)
		create(newModel(namespace, "m"), fetching(namespace, "fetch", "evicted"), healthy, service)
		expectReady(healthy)
		expectReason(service, aiv1.ReasonCrashLoop, "exit code 1", `; the Job "fetch", which can write to the claim "weights", failed (BackoffLimitExceeded)`)
		Expect(service.Status.Failure.Others).To(Equal([]string{aiv1.ReasonFillingJobFailed}))
		expectFailure(service, "")

		ginkgo.By("until it is made again: then that one has not finished")
		again := fetching(namespace, "again", "container-creating")
		create(again)
		tells := func(words string) {
			ginkgo.GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(refresh(service)).To(Succeed())
				_, behind, _ := strings.Cut(condition(service, aiv1.ConditionReady).Message, "; ")
				g.Expect(behind).To(Equal(words))
			}).WithTimeout(3 * healing).Should(Succeed())
		}
		tells(`the Job "again", which can write to the claim "weights", has not finished`)

		ginkgo.By("and once that has done its work, none is told of")
		letFinish(again)
		tells("")
		Expect(condition(service, aiv1.ConditionReady).Reason).To(Equal(aiv1.ReasonCrashLoop))
		Expect(service.Status.Failure.Others).To(BeEmpty())

		ginkgo.By("and what became ready on the same claim had none read")
		remove(service)
		o.requests.forget()
		Consistently(o.requests.reads).WithTimeout(atOnce).Should(BeEmpty())
	})
})

// createClaim makes a claim with a volume that many can mount.
func createClaim(namespace, name string) {
	ginkgo.GinkgoHelper()
	size := resource.MustParse("1Gi")
	shared := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	class := namespace + "-" + name
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: shared, StorageClassName: class,
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}}}}
	ginkgo.DeferCleanup(func() { Expect(k8s.Delete(suiteCtx, volume)).To(Succeed()) })
	create(volume, &corev1.PersistentVolumeClaim{ObjectMeta: objectMeta(namespace, name), Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: shared,
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}}}})
}

// filledBy prepares the claim "weights", and a Job that writes to it, whose pods a simulated node plays.
func filledBy(behavior string) func(string) {
	return func(namespace string) {
		ginkgo.GinkgoHelper()
		createClaim(namespace, "weights")
		create(fetching(namespace, "fetch", behavior))
	}
}

const weightsClaim = `
extraVolumes: [{name: weights, persistentVolumeClaim: {claimName: weights, readOnly: true}}]
extraVolumeMounts: [{name: weights, mountPath: /weights, readOnly: true}]`

// onClaim has the server read the claim "weights".
func onClaim(spec *aiv1.InferenceServiceSpec) { withValues(weightsClaim)(spec) }

// crashingOnClaim does, and has it crash.
func crashingOnClaim(spec *aiv1.InferenceServiceSpec) {
	withValues("podAnnotations: {localkube.dev/behavior: crash-loop}" + weightsClaim)(spec)
}

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

// letFinish ends what keeps the pods of a Job from doing their work.
func letFinish(job *batchv1.Job) {
	ginkgo.GinkgoHelper()
	pods := &corev1.PodList{}
	Eventually(func(g Gomega) {
		g.Expect(k8s.List(suiteCtx, pods, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
	}).Should(Succeed())
	edit(&pods.Items[0], func() { delete(pods.Items[0].Annotations, "localkube.dev/behavior") })
	Eventually(func(g Gomega) {
		g.Expect(refresh(job)).To(Succeed())
		g.Expect(job.Status.CompletionTime).NotTo(BeNil())
	}).Should(Succeed())
}
