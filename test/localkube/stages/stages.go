// Package stages holds the rules by which kwok plays nodes and pods: nodes become Ready and keep their lease, pods become
// Running and Ready at once, and a pod annotated with localkube.dev/behavior fails in the way that the value names.
package stages

import (
	"bytes"
	"embed"
	"fmt"

	initialize "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
)

//go:embed *.yaml
var files embed.FS

// Config returns kwok's whole configuration file.
func Config() ([]byte, error) {
	documents := [][]byte{[]byte(initialize.DefaultNodeInit), []byte(heartbeat.DefaultNodeHeartbeatWithLease)}
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the stages: %w", err)
	}
	for _, entry := range entries {
		document, err := files.ReadFile(entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read stage %s: %w", entry.Name(), err)
		}
		documents = append(documents, document)
	}
	return bytes.Join(documents, []byte("\n---\n")), nil
}
