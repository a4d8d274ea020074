package olm

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/test/process"
)

const deploymentName = "aimodel-operator-controller-manager"

// operator is bin/manager in the place of the pod that the installed Deployment got.
type operator struct {
	// account is the one that was installed for it, and user is what that is called by the API server.
	account *corev1.ServiceAccount
	user    string
	// metrics is the address that it serves them on.
	metrics string

	process *process.Process
}

// mountAccount runs a program that sees the files of a ServiceAccount where a pod sees them.
const mountAccount = `mount -t tmpfs none /var/run
mkdir -p /var/run/secrets/kubernetes.io
cp -r "$0" /var/run/secrets/kubernetes.io/serviceaccount
exec "$@"`

// accountFiles is a folder with what a pod of a ServiceAccount finds in /var/run/secrets/kubernetes.io/serviceaccount.
func accountFiles(account *corev1.ServiceAccount) string {
	ginkgo.GinkgoHelper()
	config := configOf(account)
	certificates := config.CAData
	if len(certificates) == 0 {
		var err error
		certificates, err = os.ReadFile(config.CAFile)
		Expect(err).NotTo(HaveOccurred())
	}
	folder := filepath.Join(scratch, account.Namespace+"-"+account.Name)
	Expect(os.MkdirAll(folder, 0o700)).To(Succeed())
	for name, content := range map[string][]byte{
		"ca.crt": certificates, "token": []byte(config.BearerToken), "namespace": []byte(account.Namespace),
	} {
		Expect(os.WriteFile(filepath.Join(folder, name), content, 0o600)).To(Succeed())
	}
	return folder
}

// start runs what the pod of a version would run, and returns when it is ready. Whoever starts it stops it.
func (i *installation) start(b bundle) *operator {
	ginkgo.GinkgoHelper()
	return startOperator(i.pod(b))
}

// startOperator runs what a pod of the operator would run, and returns when it is ready. Whoever starts it stops it.
func startOperator(pod *corev1.Pod) *operator {
	ginkgo.GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Spec.ServiceAccountName}}
	o := &operator{account: account, user: "system:serviceaccount:" + account.Namespace + ":" + account.Name, metrics: freeAddress()}
	probes := freeAddress()
	container := &pod.Spec.Containers[0]
	Expect(container.Name).To(Equal("manager"))
	// What the pod has that this machine has not are the files of its account, and ports of its own.
	o.process = runAs(account, "manager", environmentOf(pod, container),
		append(container.Args, "--metrics-bind-address="+o.metrics, "--health-probe-bind-address="+probes)...)
	expectProbe(o.process, probes)
	return o
}

// runAs runs a program of bin/ the way a pod of a ServiceAccount does: with its files and no other way to the API server. Whoever
// starts it stops it.
func runAs(account *corev1.ServiceAccount, name string, environment []string, args ...string) *process.Process {
	ginkgo.GinkgoHelper()
	program, err := process.Binary(name)
	Expect(err).NotTo(HaveOccurred(), "the make target of these tests builds what they need")
	host, port, err := net.SplitHostPort(strings.TrimPrefix(kube.Config.Host, "https://"))
	Expect(err).NotTo(HaveOccurred())
	environment = append(environment, "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port)
	args = append([]string{"-m", "sh", "-ec", mountAccount, accountFiles(account), program}, args...)
	p, err := process.Start(filepath.Join(logs, name+"-"+account.Namespace+".log"), environment, "unshare", args...)
	Expect(err).NotTo(HaveOccurred())
	return p
}

// expectProbe waits until a process says at an address that it is ready.
func expectProbe(p *process.Process, address string) {
	ginkgo.GinkgoHelper()
	Eventually(func(g Gomega) {
		if err := p.Running(); err != nil {
			ginkgo.Fail(err.Error())
		}
		status, err := get("http://"+address+"/readyz", "")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(status).To(Equal(http.StatusOK))
	}).WithTimeout(managed).Should(Succeed(), "it does not become ready")
}

// stop ends the operator as the kubelet does when its pod goes, and holds that it ends well.
func (o *operator) stop() {
	ginkgo.GinkgoHelper()
	Expect(o.process.Stop(ending)).To(Succeed())
}

// end ends those operators that were started, however they end.
func end(operators ...*operator) {
	for _, o := range operators {
		if o != nil {
			_ = o.process.Stop(ending)
		}
	}
}

// pod is the one that the Deployment of a version has. The simulated node says that it runs.
func (i *installation) pod(b bundle) *corev1.Pod {
	ginkgo.GinkgoHelper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace, Name: deploymentName}}
	var found *corev1.Pod
	Eventually(func(g Gomega) {
		g.Expect(refresh(deployment)).To(Succeed())
		pods := &corev1.PodList{}
		g.Expect(k8s.List(suiteCtx, pods, client.InNamespace(i.namespace), client.MatchingLabels(deployment.Spec.Selector.MatchLabels))).To(Succeed())
		for j := range pods.Items {
			pod := &pods.Items[j]
			if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
				continue
			}
			for _, variable := range pod.Spec.Containers[0].Env {
				if variable.Name == "OPERATOR_CONDITION_NAME" && variable.Value == b.name {
					found = pod
				}
			}
		}
		g.Expect(found).NotTo(BeNil(), "no pod of %s runs", b.name)
	}).WithTimeout(managed).Should(Succeed())
	return found
}

var annotation = regexp.MustCompile(`^metadata\.annotations\['(.*)'\]$`)

// environmentOf gives a container's variables the values that the kubelet would give them.
func environmentOf(pod *corev1.Pod, container *corev1.Container) []string {
	ginkgo.GinkgoHelper()
	var environment []string
	for _, variable := range container.Env {
		value := variable.Value
		if from := variable.ValueFrom; from != nil {
			switch {
			case from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory":
				value = fmt.Sprint(container.Resources.Limits.Memory().Value())
			case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
				value = pod.Namespace
			case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
				value = pod.Name
			case from.FieldRef != nil && annotation.MatchString(from.FieldRef.FieldPath):
				value = pod.Annotations[annotation.FindStringSubmatch(from.FieldRef.FieldPath)[1]]
			default:
				ginkgo.Fail("the suite does not know where the value of " + variable.Name + " comes from")
			}
		}
		environment = append(environment, variable.Name+"="+value)
	}
	return environment
}

// tokenOf is a token of a ServiceAccount, as its pods get it.
func tokenOf(account *corev1.ServiceAccount) string {
	ginkgo.GinkgoHelper()
	token := &authenticationv1.TokenRequest{}
	Expect(k8s.SubResource("token").Create(suiteCtx, account, token)).To(Succeed())
	return token.Status.Token
}

// configOf reaches the API server as a ServiceAccount.
func configOf(account *corev1.ServiceAccount) *rest.Config {
	ginkgo.GinkgoHelper()
	config := rest.AnonymousClientConfig(kube.Config)
	config.BearerToken = tokenOf(account)
	return config
}

// kubeconfigOf is a file with which a program reaches the API server as a ServiceAccount.
func kubeconfigOf(account *corev1.ServiceAccount) string {
	ginkgo.GinkgoHelper()
	config := configOf(account)
	file := filepath.Join(scratch, account.Namespace+"-"+account.Name+".kubeconfig")
	Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"local": {Server: config.Host,
			CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"account": {Token: config.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"local": {Cluster: "local", AuthInfo: "account"}},
		CurrentContext: "local",
	}, file)).To(Succeed())
	Expect(os.Chmod(file, 0o600)).To(Succeed())
	return file
}

func freeAddress() string {
	ginkgo.GinkgoHelper()
	address, err := process.FreeAddress(suiteCtx)
	Expect(err).NotTo(HaveOccurred())
	return address
}

// get asks a server on this machine, with a token if there is one, and returns the status of its answer.
func get(url, token string) (int, error) {
	request, err := http.NewRequestWithContext(suiteCtx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // the certificate is made at the start
	response, err := web.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
