package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// State describes a running cluster to other programs. It is in the cluster's folder while the cluster is ready.
type State struct {
	Kubeconfig string `json:"kubeconfig"`
	Server     string `json:"server"`
	Token      string `json:"token"`
	CAFile     string `json:"caFile"`
	// AuditLog is empty when no audit log was asked for.
	AuditLog string `json:"auditLog,omitempty"`
	// RealNode says whether pods can really run here; if not, RealNodeReason says why.
	RealNode       bool   `json:"realNode"`
	RealNodeName   string `json:"realNodeName,omitempty"`
	RealNodeReason string `json:"realNodeReason,omitempty"`
	// PID is the supervisor: end it, and all else ends.
	PID        int                  `json:"pid"`
	Components map[string]Component `json:"components"`
}

// Component is one process of a cluster.
type Component struct {
	PID int    `json:"pid"`
	Log string `json:"log"`
}

// StatePath is where the state of the cluster in dir is.
func StatePath(dir string) string { return filepath.Join(dir, "localkube.json") }

// ErrNotRunning says that a folder holds no running cluster.
var ErrNotRunning = errors.New("no cluster is running there")

// ReadState returns the state of the cluster that runs in dir, or ErrNotRunning.
func ReadState(dir string) (State, error) {
	data, err := os.ReadFile(StatePath(dir))
	if errors.Is(err, fs.ErrNotExist) || (err == nil && !Running(dir)) {
		return State{}, fmt.Errorf("%s: %w", dir, ErrNotRunning)
	}
	if err != nil {
		return State{}, fmt.Errorf("read the cluster's state: %w", err)
	}
	var state State
	if err := json.Unmarshal(data, &state); err != nil {
		return State{}, fmt.Errorf("read %s: %w", StatePath(dir), err)
	}
	return state, nil
}

// write puts the state in place whole: whoever waits for the file may read it at once. The token makes it secret.
func (s State) write(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	temporary := StatePath(dir) + ".new"
	if err := os.WriteFile(temporary, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	return os.Rename(temporary, StatePath(dir))
}

func lockPath(dir string) string { return filepath.Join(dir, "lock") }

// claim takes the folder for this process. The lock goes with the process, so it tells a running cluster from what a
// killed one left behind, which is removed. A folder with other things in it is refused.
func claim(dir string) (*os.File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look into the folder: %w", err)
	}
	if _, err := os.Stat(lockPath(dir)); err != nil && len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty and not from localkube: choose another folder", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	lock, err := os.OpenFile(lockPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	if err := exclusive(lock); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("a cluster is running in %s already: use it, stop it with `localkube down --dir %s`, or choose another folder", dir, dir)
	}
	if err := removeLeftovers(dir); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

// emptyFolder removes all but the lock.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look into the folder: %w", err)
	}
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); path != lockPath(dir) {
			if err := os.RemoveAll(path); err != nil {
				return fmt.Errorf("empty the folder: %w", err)
			}
		}
	}
	return nil
}

// exclusive locks the file. A few tries pass over somebody who only looks whether it is locked.
func exclusive(lock *os.File) error {
	var err error
	for range 10 {
		if err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// RemoveStale removes what a killed cluster left in dir and on the machine, if one did.
func RemoveStale(dir string) (bool, error) {
	if _, err := os.Stat(lockPath(dir)); err != nil {
		return false, nil
	}
	lock, err := claim(dir)
	if err != nil {
		return false, err
	}
	defer func() { _ = lock.Close() }()
	return true, os.RemoveAll(dir)
}

// Running says whether a live process holds the folder.
func Running(dir string) bool {
	lock, err := os.Open(lockPath(dir))
	if err != nil {
		return false
	}
	defer func() { _ = lock.Close() }()
	return unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

func writeKubeconfig(s State) error {
	const name = "localkube"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: s.Server, CertificateAuthority: s.CAFile}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: s.Token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, s.Kubeconfig); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
