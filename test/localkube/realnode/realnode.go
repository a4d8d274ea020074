// Package realnode runs one node whose pods are real: a kubelet and a containerd of their own beside whatever else the
// machine runs. Everything they write is below one folder of /var/lib named after the cluster, their containers are
// below one cgroup and behind one bridge of that name, and all of it is taken away at the end. A guard process does this, so
// that it happens even when the cluster's supervisor is killed.
package realnode

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// What marks the node.
const (
	// Name is the node's name.
	Name = "localkube-real"
	// TypeLabel and TypeReal tell it from the nodes that kwok plays; Label can be used to choose it.
	TypeLabel, TypeReal = "type", "real"
	Label, LabelValue   = "localkube.dev/node", "real"
	// PauseImage is what the sandboxes of pods run; it is made here and never pulled.
	PauseImage = "registry.k8s.io/pause:3.10.1"
	// Program is the guard's name in the multi-call binary.
	Program = "localkube-node"
)

// Config tells the guard what to run.
type Config struct {
	// ID names what the node needs of the machine; see ID.
	ID string `json:"id"`
	// LogDir is where the programs' logs go, BinDir where their binaries are, CNIDir where the network plugins are.
	LogDir string `json:"logDir"`
	BinDir string `json:"binDir"`
	CNIDir string `json:"cniDir"`
	// Kubeconfig is the cluster's, and ClientCA signs the certificate that its API server shows to the kubelet.
	Kubeconfig string `json:"kubeconfig"`
	ClientCA   string `json:"clientCA"`
	// Server is the host and port of the API server. Pods reach it at the address APIService, which is that of the Service
	// kubernetes.
	Server     string `json:"server"`
	APIService string `json:"apiService"`
}

// ID derives a short name from a cluster's folder: the same folder gives the same name, so what a killed cluster left
// behind is found by the next one there.
func ID(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:3])
}

// Base is the folder below which a node writes. It is short, for it holds sockets, whose paths are bounded.
func Base(id string) string { return "/var/lib/localkube-" + id }

// Socket is where the node's containerd listens.
func Socket(id string) string { return filepath.Join(Base(id), "containerd.sock") }

func bridge(id string) string     { return "lk-" + id }
func cgroupRoot(id string) string { return "localkube-" + id }

// Write stores the configuration for the guard and returns the file's name.
func (c Config) Write(dir string) (string, error) {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode the real node's configuration: %w", err)
	}
	path := filepath.Join(dir, "real-node.json")
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("write the real node's configuration: %w", err)
	}
	return path, nil
}

func readConfig(path string) (Config, error) {
	var config Config
	data, err := os.ReadFile(path)
	if err != nil {
		return config, fmt.Errorf("read the real node's configuration: %w", err)
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return config, fmt.Errorf("read %s: %w", path, err)
	}
	return config, nil
}
