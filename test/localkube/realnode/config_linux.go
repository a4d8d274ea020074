package realnode

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
)

// containerdConfig keeps containerd away from everything another containerd of the machine could use.
const containerdConfig = `version = 3
root = "%[1]s/containerd"
state = "%[1]s/state"
disabled_plugins = ["io.containerd.image-verifier.v1.bindir"]

[grpc]
  address = "%[2]s"

[plugins.'io.containerd.nri.v1.nri']
  disable = true

[plugins.'io.containerd.internal.v1.opt']
  path = "%[1]s/opt"

[plugins.'io.containerd.cri.v1.images']
  snapshotter = "%[3]s"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "%[4]s"

[plugins.'io.containerd.cri.v1.runtime']
  # Without CAP_SYS_RESOURCE a process may not lower its score, and runc would fail to start any container.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  enable_unprivileged_ports = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["%[5]s"]
    conf_dir = "%[1]s/cni"
    use_internal_loopback = true # the plugin would leave files in /var/lib/cni
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      Root = "%[1]s/runc"
      SystemdCgroup = false
`

// network gives pods addresses on a bridge that only this machine reaches: nothing is routed or masqueraded, so pods
// cannot reach the outside. Beside each other they reach the API server, at an address of the bridge.
const network = `{
  "cniVersion": "1.0.0", "name": "%[1]s",
  "plugins": [{
    "type": "bridge", "bridge": "%[1]s", "isGateway": true, "ipMasq": false, "promiscMode": false,
    "ipam": {"type": "host-local", "dataDir": "%[2]s/addresses", "ranges": [[{"subnet": "%[3]s"}]], "routes": [{"dst": "%[4]s/32"}]}
  }]
}
`

// kubeletConfig asks for no protection of the machine's resources: it is a guest here, and a developer's full disk must not
// taint the node.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://%[1]s
address: %[8]s
port: %[2]d
readOnlyPort: 0
healthzPort: 0
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: %[3]q}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /%[4]s
failSwapOn: false
failCgroupV1: false
localStorageCapacityIsolation: false
enforceNodeAllocatable: []
makeIPTablesUtilChains: false
podLogsDir: %[5]q
volumePluginDir: %[6]q
resolvConf: %[7]q
# There is no DNS. Questions go to this node, which refuses them at once.
clusterDNS: ["%[8]s"]
oomScoreAdj: 0
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: "0%%", nodefs.inodesFree: "0%%", imagefs.available: "0%%"}
# Tests wait for the kubelet: let it look and tell often.
syncFrequency: 10s
nodeStatusUpdateFrequency: 5s
serializeImagePulls: false
kubeAPIQPS: 100
kubeAPIBurst: 200
eventRecordQPS: 0
`

// writeConfigs lays out the node's folder. The first address of the subnet is the node's.
func (c Config) writeConfigs(subnet *net.IPNet, kubeletPort int) error {
	base := Base(c.ID)
	for _, dir := range []string{"cni", "kubelet", "logs"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			return fmt.Errorf("make the node's folder: %w", err)
		}
	}
	resolvConf := "/etc/resolv.conf"
	if _, err := os.Stat(resolvConf); err != nil {
		resolvConf = ""
	}
	for name, content := range map[string]string{
		"containerd.toml":           fmt.Sprintf(containerdConfig, base, Socket(c.ID), snapshotter(base), PauseImage, c.CNIDir),
		"cni/10-localkube.conflist": fmt.Sprintf(network, bridge(c.ID), base, subnet, c.APIService),
		"kubelet.yaml": fmt.Sprintf(kubeletConfig, Socket(c.ID), kubeletPort, c.ClientCA, cgroupRoot(c.ID),
			filepath.Join(base, "logs"), filepath.Join(base, "kubelet", "plugins"), resolvConf, gateway(subnet)),
	} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// freeSubnet picks a /24 that no interface of this machine has an address in. The search begins at a place given by the ID,
// so that two nodes that start at the same moment choose differently.
func freeSubnet(id string) (*net.IPNet, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the addresses in use: %w", err)
	}
	var start int
	_, _ = fmt.Sscanf(id[:2], "%x", &start)
	for i := range 256 {
		_, subnet, _ := net.ParseCIDR(fmt.Sprintf("10.213.%d.0/24", (start+i)%256))
		taken := false
		for _, address := range addresses {
			if used, ok := address.(*net.IPNet); ok && (subnet.Contains(used.IP) || used.Contains(subnet.IP)) {
				taken = true
			}
		}
		if !taken {
			return subnet, nil
		}
	}
	return nil, fmt.Errorf("every subnet of 10.213.0.0/16 is in use")
}

// gateway is the subnet's first address, which the bridge has.
func gateway(subnet *net.IPNet) net.IP {
	ip := slices.Clone(subnet.IP.To4())
	ip[3]++
	return ip
}
