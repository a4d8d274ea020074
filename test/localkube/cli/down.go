package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimodel-operator/aimodel-operator/test/localkube/cluster"
)

// downTimeout is longer than everything that the supervisor waits for when it stops.
const downTimeout = 90 * time.Second

func newDown(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove its folder; nothing to stop is no error",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			state, err := cluster.ReadState(*dir)
			if errors.Is(err, cluster.ErrNotRunning) {
				removed, err := cluster.RemoveStale(*dir)
				if err == nil && removed {
					progress("Removed what a killed cluster left in %s", *dir)
				} else if err == nil {
					progress("Nothing runs in %s", *dir)
				}
				return err
			}
			if err != nil {
				return err
			}
			if err := syscall.Kill(state.PID, syscall.SIGTERM); err != nil {
				return fmt.Errorf("stop the supervisor (pid %d): %w", state.PID, err)
			}
			for deadline := time.Now().Add(downTimeout); cluster.Running(*dir) || syscall.Kill(state.PID, 0) == nil; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					return fmt.Errorf("the supervisor (pid %d) is still stopping after %s", state.PID, downTimeout)
				}
			}
			progress("Stopped")
			return nil
		},
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
