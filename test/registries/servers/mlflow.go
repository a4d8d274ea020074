package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// MLflow is MLflow's tracking server, with its model registry in a SQLite file.
type MLflow struct {
	*Process
	URL string
}

// StartMLflow starts the mlflow program that MLFLOW names, or that `make registries` installed.
func StartMLflow(t testing.TB, flags ...string) MLflow {
	t.Helper()
	program := os.Getenv("MLFLOW")
	if program == "" {
		program = filepath.Join(root(), "bin", "registries", "mlflow", "bin", "mlflow")
	}
	if _, err := os.Stat(program); err != nil {
		missing(t, "mlflow", "there is no "+program+"; make registries installs it where PyPI can be reached, or set MLFLOW to one")
	}
	dir := t.TempDir()
	on := port(t)
	server := MLflow{URL: fmt.Sprintf("http://127.0.0.1:%d", on)}
	server.Process = run(t, server.URL+"/health", func() *exec.Cmd {
		cmd := exec.Command(program, append([]string{
			"server", "--host", "127.0.0.1", "--port", fmt.Sprint(on), "--workers", "1", "--backend-store-uri", "sqlite:///" + filepath.Join(dir, "mlflow.db"),
			"--artifacts-destination", filepath.Join(dir, "artifacts"),
		}, flags...)...)
		cmd.Dir = dir
		// It reports to nobody, and runs no jobs, which would be a dozen processes.
		cmd.Env = append(os.Environ(), "MLFLOW_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false")
		return cmd
	})
	return server
}
