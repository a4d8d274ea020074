package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/gpunode"
	"github.com/aimodel-operator/aimodel-operator/test/localkube/stages"
)

// podCIDR is where simulated pods get their addresses from: a range kept for benchmarks (RFC 2544), so that no address
// belongs to a real machine.
const podCIDR = "198.18.0.1/16"

// serviceCIDR is where Services get their addresses from; apiService is the first, which the API server takes for itself. The real
// node's bridge has that one. The range is one that hardly any network uses.
const (
	serviceCIDR = "10.212.0.0/16"
	apiService  = "10.212.0.1"
)

// auditPolicy logs one line for each finished request, without bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
`

// layout is where a cluster keeps its files and which ports it uses.
type layout struct {
	dir                                                         string
	etcdPort, etcdPeerPort, apiPort, managerPort, schedulerPort int
	creds                                                       *credentials
}

func (l *layout) path(elements ...string) string {
	return filepath.Join(append([]string{l.dir}, elements...)...)
}

func (l *layout) address() string  { return "127.0.0.1:" + strconv.Itoa(l.apiPort) }
func (l *layout) server() string   { return "https://" + l.address() }
func (l *layout) caFile() string   { return l.path("apiserver", "apiserver.crt") }
func (l *layout) auditLog() string { return l.path("logs", "audit.log") }

func (l *layout) etcdArgs() []string {
	client := "http://127.0.0.1:" + strconv.Itoa(l.etcdPort)
	peer := "http://127.0.0.1:" + strconv.Itoa(l.etcdPeerPort)
	return []string{
		"--name=localkube", "--data-dir=" + l.path("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=localkube=" + peer,
		"--quota-backend-bytes=4294967296", "--log-level=warn",
	}
}

func (l *layout) apiServerArgs(audit bool, extra []string) ([]string, error) {
	args := []string{
		"--etcd-servers=http://127.0.0.1:" + strconv.Itoa(l.etcdPort),
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(l.apiPort), "--cert-dir=" + l.path("apiserver"),
		"--authorization-mode=RBAC", "--token-auth-file=" + l.creds.tokenFile,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + l.creds.serviceAccountKey, "--service-account-signing-key-file=" + l.creds.serviceAccountKey,
		"--service-cluster-ip-range=" + serviceCIDR, "--allow-privileged=true",
		"--kubelet-client-certificate=" + l.creds.kubeletClientCert, "--kubelet-client-key=" + l.creds.kubeletKey,
		"--kubelet-preferred-address-types=InternalIP",
		"--requestheader-client-ca-file=" + l.creds.clientCA, "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + l.creds.proxyClientCert, "--proxy-client-key-file=" + l.creds.proxyKey,
	}
	if audit {
		policy := l.path("audit-policy.yaml")
		if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
			return nil, fmt.Errorf("write the audit policy: %w", err)
		}
		args = append(args, "--audit-policy-file="+policy, "--audit-log-path="+l.auditLog(), "--audit-log-format=json", "--audit-log-mode=blocking")
	}
	return append(args, extra...), nil
}

func (l *layout) managerArgs(kubeconfig string, extra []string) []string {
	return append([]string{
		"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(l.managerPort),
		"--service-account-private-key-file=" + l.creds.serviceAccountKey, "--root-ca-file=" + l.caFile(),
		// Hundreds of services come at once in the scale test; the defaults would measure this program's rate limiter. Its five
		// workers of each kind are enough: more for Deployments and ReplicaSets mostly send what they must send again, and more
		// for endpoints take the API server from those that start pods.
		"--kube-api-qps=200", "--kube-api-burst=400", "--concurrent-horizontal-pod-autoscaler-syncs=10",
	}, extra...)
}

func (l *layout) schedulerArgs(kubeconfig string, extra []string) []string {
	return append([]string{
		"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(l.schedulerPort),
		"--kube-api-qps=200", "--kube-api-burst=400",
	}, extra...)
}

func (l *layout) kwokArgs(kubeconfig string) ([]string, error) {
	config, err := stages.Config()
	if err != nil {
		return nil, err
	}
	path := l.path("kwok.yaml")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return nil, fmt.Errorf("write kwok's configuration: %w", err)
	}
	return []string{
		"--kubeconfig=" + kubeconfig, "--config=" + path, "--node-lease-duration-seconds=40",
		"--manage-nodes-with-label-selector=" + gpunode.TypeLabel + "=" + gpunode.TypeKwok,
		"--cidr=" + podCIDR, "--node-ip=127.0.0.1", // asked for logs, the API server stays on this machine
	}, nil
}
