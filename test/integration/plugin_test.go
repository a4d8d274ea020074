package integration

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/cli"
)

// plugin runs a command of the kubectl plugin.
func plugin(ctx context.Context, stdin string, args ...string) (code int, out, err string) {
	var stdout, stderr bytes.Buffer
	code = cli.Run(ctx, append([]string{"--kubeconfig", kube.Kubeconfig}, args...),
		cli.Options{In: strings.NewReader(stdin), Out: &stdout, Err: &stderr, Version: "test", Now: time.Now})
	return code, stdout.String(), stderr.String()
}

// tell runs a command that must succeed, in a namespace.
func tell(namespace string, args ...string) string {
	ginkgo.GinkgoHelper()
	code, out, err := plugin(suiteCtx, "", append(args, "-n", namespace)...)
	Expect(code).To(BeZero(), err)
	return out
}

// refuse runs a command that must fail, in a namespace.
func refuse(namespace string, args ...string) string {
	ginkgo.GinkgoHelper()
	code, out, err := plugin(suiteCtx, "", append(args, "-n", namespace)...)
	Expect(code).To(Equal(2), out+err)
	return err
}

var _ = ginkgo.Describe("The kubectl plugin", func() {
	var namespace string
	ginkgo.BeforeEach(func() {
		needSimulatedPods()
		namespace = newNamespace()
	})

	ginkgo.It("tells why a model is not ready, with the cause marked", func() {
		create(newModel(namespace, "llama"), newService(namespace, "llama", "llama", withGPUs(16)))
		service := newService(namespace, "llama", "llama")
		expectReason(service, aiv1.ReasonUnschedulable)
		story := tell(namespace, "why", "llama")
		Expect(story).To(MatchRegexp(`InferenceService %s/llama is not ready: Unschedulable`, namespace))
		Expect(story).To(MatchRegexp(`Pod/llama-server-\S+ +Pending, Unschedulable  ◀ the cause`))
		Expect(story).To(ContainSubstring("Insufficient nvidia.com/gpu"))
		Expect(strings.Count(story, "◀")).To(Equal(1))

		var asJSON struct{ Reason string }
		Expect(json.Unmarshal([]byte(tell(namespace, "why", "infsvc/llama", "-o", "json")), &asJSON)).To(Succeed())
		Expect(asJSON.Reason).To(Equal(aiv1.ReasonUnschedulable))
		Expect(refuse(namespace, "why", "lama")).To(ContainSubstring(`there is no AIModel or InferenceService "lama" in namespace "` + namespace +
			`"; there are aim/llama, llama`))
	})

	ginkgo.It("tells what is free where a model finds no room, and what a budget lets go", func() {
		create(newModel(namespace, "m"), newService(namespace, "holds", "m", withGPUs(5), func(spec *aiv1.InferenceServiceSpec) {
			spec.Replicas = new(int32(2))
		}))
		expectReady(newService(namespace, "holds", "m"))
		waits := newService(namespace, "waits", "m", withGPUs(6))
		create(waits)
		expectReason(waits, aiv1.ReasonUnschedulable, "a node that it may use has 8, which other pods hold. It may use 2 of 2 nodes")
		Expect(tell(namespace, "why", "waits")).To(MatchRegexp(
			`A replica asks for 6 nvidia\.com/gpu, and the most that is free on a node that it may use is [0-3] of 8, on \S+( and 1 more)?(; \d+ are free in all, on 2 nodes)?\. It may use 2 of 2 nodes`))
		Expect(tell(namespace, "why", "holds")).To(MatchRegexp(`PodDisruptionBudget/holds-server +lets 1 be evicted, 2 of 2 healthy`))
	})

	ginkgo.It("shows the fleet, with the GPUs asked for and got", func() {
		create(newModel(namespace, "m"), newService(namespace, "fits", "m", withGPUs(2)), newService(namespace, "too-big", "m", withGPUs(16)))
		expectReady(newService(namespace, "fits", "m"))
		expectReason(newService(namespace, "too-big", "m"), aiv1.ReasonUnschedulable)
		table := tell(namespace, "status")
		Expect(table).To(MatchRegexp(`infsvc/fits +m +True +Ready +1/1 +2/2 `))
		Expect(table).To(MatchRegexp(`infsvc/too-big +m +False +Unschedulable +0/1 +0/16 `))
		Expect(table).To(ContainSubstring("2 of 18 nvidia.com/gpu"))
		Expect(tell("default", "status", "-A")).To(ContainSubstring(namespace))
	})

	ginkgo.It("renders exactly what the operator applied, and finds no difference to it", func() {
		secret := &corev1.Secret{ObjectMeta: objectMeta(namespace, "hf"), StringData: map[string]string{"token": "hf_content"}}
		model := newModel(namespace, "m", func(spec *aiv1.AIModelSpec) {
			spec.Source = &aiv1.ModelSource{URI: "hf://acme/model"}
			spec.CredentialsRef = &corev1.SecretReference{Name: "hf"}
		})
		service := newService(namespace, "s", "m", withGPUs(2), withAutoscaling(3), func(spec *aiv1.InferenceServiceSpec) {
			spec.Runtime = aiv1.Runtime{Name: aiv1.RuntimeVLLM}
		})
		alone := newModel(namespace, "alone", withImage, withReplicas(2))
		create(secret, model, service, alone)
		expectReady(service, alone)

		// A rendering of what was read from the cluster carries the digest, which covers every byte that was sent.
		list := &unstructured.UnstructuredList{}
		for _, file := range []client.Object{model, service, alone} {
			Expect(refresh(file)).To(Succeed())
		}
		var files strings.Builder
		for _, object := range []client.Object{model, service, alone} {
			files.WriteString("---\n" + asYAML(withKind(object)))
		}
		files.WriteString("---\napiVersion: v1\nkind: Secret\nmetadata: {name: hf, namespace: " + namespace + "}\ndata: {token: ''}\n")
		code, out, err := plugin(suiteCtx, files.String(), "render", "-f", "-", "-o", "json")
		Expect(code).To(BeZero(), err)
		Expect(json.Unmarshal([]byte(out), list)).To(Succeed())
		Expect(list.Items).To(HaveLen(len(children(service)) + len(children(alone))))
		for i := range list.Items {
			rendered, live := &list.Items[i], &unstructured.Unstructured{}
			live.SetGroupVersionKind(rendered.GroupVersionKind())
			Expect(k8s.Get(suiteCtx, client.ObjectKeyFromObject(rendered), live)).To(Succeed())
			Expect(digest(live)).To(Equal(digest(rendered)), rendered.GetKind())
		}
		Expect(tell(namespace, "diff", "s")).To(BeEmpty())
		Expect(tell(namespace, "diff", "alone")).To(BeEmpty())

		// What others add is no difference; a field of the operator's that is changed is one, and so is a changed file.
		edited := deploymentOf(namespace, "s-server")
		edit(edited, func() { edited.Labels["theirs"] = "x" })
		Expect(tell(namespace, "diff", "s")).To(BeEmpty())
		tell(namespace, "pause", "s")
		edit(edited, func() { edited.Spec.Template.Spec.Containers[0].Args = []string{"changed"} })
		code, out, err = plugin(suiteCtx, "", "diff", "s", "-n", namespace)
		Expect(code).To(Equal(1), err)
		Expect(out).To(MatchRegexp(`(?m)^- +- changed$`))
		Expect(err).To(ContainSubstring("is paused"))
		tell(namespace, "resume", "s")
		Eventually(func() string { _, out, _ := plugin(suiteCtx, "", "diff", "s", "-n", namespace); return out }).Should(BeEmpty())

		file := filepath.Join(ginkgo.GinkgoT().TempDir(), "alone.yaml")
		changed := newModel(namespace, "alone", withImage, withReplicas(1))
		writeFile(file, withKind(changed))
		code, out, err = plugin(suiteCtx, "", "diff", "-f", file)
		Expect(code).To(Equal(1), err)
		Expect(out).To(And(ContainSubstring("-  replicas: 2"), ContainSubstring("+  replicas: 1"),
			ContainSubstring("--- live PodDisruptionBudget/alone\n+++ /dev/null")))
	})

	ginkgo.It("scales through the scale subresource, but not against an autoscaler", func() {
		create(newModel(namespace, "m"), newModel(namespace, "served", withImage), newService(namespace, "scaled", "m", withAutoscaling(3)))
		model := newModel(namespace, "served")
		expectReady(model, newService(namespace, "scaled", "m"))
		Expect(tell(namespace, "scale", "served", "--replicas", "3")).To(Equal("aim/served scaled from 1 to 3 replicas\n"))
		Eventually(func() int32 { Expect(refresh(model)).To(Succeed()); return model.Status.AvailableReplicas }).Should(BeEquivalentTo(3))
		Expect(tell(namespace, "scale", "served", "--replicas", "3")).To(ContainSubstring("already"))
		Expect(refuse(namespace, "scale", "scaled", "--replicas", "2")).To(ContainSubstring("the autoscaler of infsvc/scaled writes its replicas"))
		Expect(refuse(namespace, "scale", "m", "--replicas", "2")).To(ContainSubstring("scale what serves it, infsvc/scaled"))
		Expect(tell(namespace, "scale", "scaled", "--replicas", "2", "--force")).To(ContainSubstring("scaled from 1 to 2"))
	})

	ginkgo.It("pauses and resumes", func() {
		model := newModel(namespace, "m", withImage)
		create(model)
		expectReady(model)
		Expect(tell(namespace, "pause", "m")).To(Equal("aim/m paused\n"))
		Expect(tell(namespace, "pause", "m")).To(ContainSubstring("paused already"))
		Expect(refresh(model)).To(Succeed())
		Expect(model.Annotations).To(HaveKeyWithValue(aiv1.AnnotationPaused, "true"))
		Expect(tell(namespace, "why", "m")).To(ContainSubstring("it is paused"))
		Expect(tell(namespace, "resume", "m")).To(Equal("aim/m resumed\n"))
		Expect(refresh(model)).To(Succeed())
		Expect(model.Annotations).NotTo(HaveKey(aiv1.AnnotationPaused))
	})

	ginkgo.It("follows a model and its pods, and ends cleanly", func() {
		model := newModel(namespace, "m", withImage)
		create(model)
		expectReady(model)
		watch := startPlugin("watch", "m", "-n", namespace)
		Eventually(watch.text).Should(And(ContainSubstring("AIModel/m  Ready: True Ready"), MatchRegexp(`Pod/m-\S+  ready: True`)))
		tell(namespace, "scale", "m", "--replicas", "2")
		Eventually(watch.text).Should(And(
			ContainSubstring("AIModel/m  replicas: 1 of 1 available, 1 wanted -> "),
			ContainSubstring("2 of 2 available, 2 wanted"),
			MatchRegexp(`AIModel/m  Ready: False \S+ -> True Ready`)))
		Expect(watch.stop()).To(BeZero())
	})

	ginkgo.It("follows any custom resource, found out at run time", func() {
		create(newModel(namespace, "m"), newModel(namespace, "other"))
		watch := startPlugin("watch", "--crd", "ai.example.com/AIModel", "-n", namespace, "-o", "json")
		Eventually(watch.text).Should(And(ContainSubstring(`"name":"m","what":"Ready","to":"True Catalogued"`), ContainSubstring(`"name":"other"`)))
		remove(newModel(namespace, "other"))
		Eventually(watch.text).Should(ContainSubstring(`"name":"other","what":"object","to":"gone"`))
		Expect(watch.stop()).To(BeZero())

		one := startPlugin("watch", "--crd", "apiextensions.k8s.io/crd", "aimodels.ai.example.com")
		Eventually(one.text).Should(ContainSubstring("CustomResourceDefinition/aimodels.ai.example.com  Established: True"))
		Expect(one.stop()).To(BeZero())
		Expect(refuse(namespace, "watch", "--crd", "ai.example.com/Wodget")).To(ContainSubstring(
			`group "ai.example.com" has no kind "Wodget"; it has AIModel, InferenceService`))
		Expect(refuse(namespace, "watch", "--crd", "nobody.example/Widget")).To(ContainSubstring(`has no group "nobody.example"`))
		Expect(refuse(namespace, "watch", "nobody")).To(ContainSubstring("there is no AIModel or InferenceService"))
	})

	ginkgo.It("converts the objects of other systems into what the API server accepts", func() {
		inputs, err := filepath.Glob("../../internal/cli/convert/testdata/*.input.yaml")
		Expect(err).NotTo(HaveOccurred())
		Expect(inputs).NotTo(BeEmpty())
		for _, input := range inputs {
			_, out, said := plugin(suiteCtx, "", "convert", "-f", input, "-o", "json")
			list := &unstructured.UnstructuredList{}
			Expect(json.Unmarshal([]byte(out), list)).To(Succeed(), said)
			Expect(len(list.Items)).To(BeNumerically(">=", 2), input)
			for i := range list.Items {
				list.Items[i].SetNamespace(namespace)
				strict := client.WithFieldValidation(k8s, metav1.FieldValidationStrict)
				Expect(strict.Create(suiteCtx, &list.Items[i], client.DryRunAll)).To(Succeed(), "%s: %s", input, list.Items[i].GetName())
			}
		}
	})

	ginkgo.It("prints the URL", func() {
		elsewhere := newModel(namespace, "elsewhere", func(spec *aiv1.AIModelSpec) { spec.Endpoint = "https://api.example/v1" })
		model := newModel(namespace, "m", withImage, func(spec *aiv1.AIModelSpec) { spec.Endpoint = "/v1/x" })
		create(elsewhere, model, newModel(namespace, "entry"))
		expectReady(elsewhere, model)
		Expect(tell(namespace, "url", "m")).To(Equal("http://m." + namespace + ".svc.cluster.local:80/v1/x\n"))
		Expect(tell(namespace, "url", "elsewhere")).To(Equal("https://api.example/v1\n"))
		Expect(refuse(namespace, "url", "elsewhere", "--port-forward")).To(ContainSubstring("there is no pod to forward a port to"))
		Expect(refuse(namespace, "url", "entry")).To(ContainSubstring("aim/entry has no URL"))
		Expect(refuse(namespace, "logs", "entry")).To(ContainSubstring("aim/entry has no pods"))
	})

	ginkgo.It("gathers a support bundle without secrets", func() {
		secret := &corev1.Secret{ObjectMeta: objectMeta(namespace, "hf"), StringData: map[string]string{"token": "PLANTED"}}
		model := newModel(namespace, "m", func(spec *aiv1.AIModelSpec) { spec.CredentialsRef = &corev1.SecretReference{Name: "hf"} })
		service := newService(namespace, "s", "m", withGPUs(16), func(spec *aiv1.InferenceServiceSpec) {
			spec.Runtime.Env = []corev1.EnvVar{{Name: "API_KEY", Value: "PLANTED"}, {Name: "PLAIN", Value: "seen"}}
			spec.Runtime.Args = []string{"--token", "PLANTED"}
		})
		create(secret, model, service)
		expectReason(service, aiv1.ReasonUnschedulable)
		file := filepath.Join(ginkgo.GinkgoT().TempDir(), "bundle.tar.gz")
		Expect(tell(namespace, "support-bundle", "--file", file)).To(ContainSubstring("has 2 models of 1 namespaces and 1 pods"))
		files := unpack(file)
		for name, text := range files {
			Expect(text).NotTo(ContainSubstring("PLANTED"), name)
		}
		where := "aimodel-support/namespaces/" + namespace + "/"
		Expect(files).To(And(HaveKey(where+"aimodel.yaml"), HaveKey(where+"deployment.yaml"), HaveKey(where+"pod.yaml"), HaveKey(where+"event.yaml"),
			HaveKey("aimodel-support/cluster/node.yaml"), HaveKey("aimodel-support/version.yaml")))
		Expect(files[where+"deployment.yaml"]).To(ContainSubstring("value: seen"))
		Expect(files[where+"why/InferenceService-s.txt"]).To(ContainSubstring("is not ready: Unschedulable"))
		if preinstalled { // however it got there, it has a Deployment
			Expect(files).To(HaveKey("aimodel-support/operator/deployment.yaml"))
		} else {
			Expect(files["aimodel-support/missing.txt"]).To(ContainSubstring("operator: no Deployment of it was found"))
		}
		Expect(refuse(namespace, "support-bundle", "--file", file)).To(ContainSubstring("exists already"))
	})

	ginkgo.It("says in a sentence what somebody may not do", func() {
		create(newModel(namespace, "m", withImage))
		config := accountConfig(namespace)
		file := filepath.Join(ginkgo.GinkgoT().TempDir(), "kubeconfig")
		Expect(clientcmd.WriteToFile(clientcmdapi.Config{
			Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData,
				CertificateAuthority: config.CAFile, InsecureSkipTLSVerify: config.Insecure}},
			AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: config.BearerToken}},
			Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u", Namespace: namespace}},
			CurrentContext: "x",
		}, file)).To(Succeed())
		code, _, err := plugin(suiteCtx, "", "why", "m", "--kubeconfig", file)
		Expect(code).To(Equal(2))
		Expect(err).To(And(HavePrefix("error: you may not do that: "), ContainSubstring("cannot get resource")))
	})
})

// unpack reads the files of an archive.
func unpack(file string) map[string]string {
	ginkgo.GinkgoHelper()
	compressed, err := gzip.NewReader(bytes.NewReader(readFile(file)))
	Expect(err).NotTo(HaveOccurred())
	files := map[string]string{}
	for reader := tar.NewReader(compressed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		Expect(err).NotTo(HaveOccurred())
		data, err := io.ReadAll(reader)
		Expect(err).NotTo(HaveOccurred())
		files[header.Name] = string(data)
	}
}

// running is a command that goes on until it is stopped.
type running struct {
	mu    sync.Mutex
	out   bytes.Buffer
	end   context.CancelFunc
	ended chan int
}

// startPlugin starts a command that goes on. It ends with the spec, if not before.
func startPlugin(args ...string) *running {
	ginkgo.GinkgoHelper()
	r := &running{ended: make(chan int, 1)}
	var ctx context.Context
	ctx, r.end = context.WithCancel(suiteCtx)
	ginkgo.DeferCleanup(r.end)
	go func() {
		r.ended <- cli.Run(ctx, append([]string{"--kubeconfig", kube.Kubeconfig}, args...),
			cli.Options{In: strings.NewReader(""), Out: r, Err: r, Version: "test", Now: time.Now})
	}()
	return r
}

func (r *running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(p)
}

func (r *running) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.String()
}

// stop ends the command as Ctrl-C does, and returns its exit code.
func (r *running) stop() (code int) {
	ginkgo.GinkgoHelper()
	r.end()
	Eventually(r.ended).Should(Receive(&code))
	return code
}

// withKind gives an object the kind that typed clients leave out.
func withKind(object client.Object) client.Object {
	kind := "AIModel"
	if _, ok := object.(*aiv1.InferenceService); ok {
		kind = "InferenceService"
	}
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: aiv1.Group, Version: "v1", Kind: kind})
	return object
}

// digest is what an object carries of what was sent, however it was sent.
func digest(object client.Object) string {
	_, digest, _ := strings.Cut(object.GetAnnotations()[aiv1.AnnotationApplied], ":")
	return digest
}
