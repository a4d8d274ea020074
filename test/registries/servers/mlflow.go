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
	// Admin and AdminPassword are the user who may do everything, where there are users.
	Admin, AdminPassword string
}

// StartMLflow starts the mlflow program that MLFLOW names, or that `make registries` installed.
func StartMLflow(t testing.TB, flags ...string) MLflow {
	t.Helper()
	return startMLflow(t, MLflow{}, nil, flags)
}

// StartMLflowWithUsers starts MLflow with its own app for authentication. Its users have no permission that nobody gave them.
func StartMLflowWithUsers(t testing.TB, flags ...string) MLflow {
	t.Helper()
	dir := t.TempDir()
	server := MLflow{Admin: "admin", AdminPassword: "the-password-of-the-admin"}
	config := filepath.Join(dir, "auth.ini")
	// Without the cache, each request waits for a hash that is slow on purpose.
	write(t, config, fmt.Sprintf("[mlflow]\ndefault_permission = NO_PERMISSIONS\ndatabase_uri = sqlite:///%s\nadmin_username = %s\n"+
		"authorization_function = mlflow.server.auth:authenticate_request_basic_auth\ngrant_default_workspace_access = false\n"+
		"auth_cache_ttl_seconds = 600\n", filepath.Join(dir, "auth.db"), server.Admin))
	return startMLflow(t, server, []string{
		"MLFLOW_AUTH_CONFIG_PATH=" + config, "MLFLOW_AUTH_ADMIN_PASSWORD=" + server.AdminPassword, "MLFLOW_FLASK_SERVER_SECRET_KEY=of-the-test",
	}, append([]string{"--app-name", "basic-auth"}, flags...))
}

func startMLflow(t testing.TB, server MLflow, env, flags []string) MLflow {
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
	server.URL = fmt.Sprintf("http://127.0.0.1:%d", on)
	server.Process = run(t, server.URL+"/health", func() *exec.Cmd {
		cmd := exec.Command(program, append([]string{
			"server", "--host", "127.0.0.1", "--port", fmt.Sprint(on), "--workers", "1", "--backend-store-uri", "sqlite:///" + filepath.Join(dir, "mlflow.db"),
			"--artifacts-destination", filepath.Join(dir, "artifacts"),
		}, flags...)...)
		cmd.Dir = dir
		// It reports to nobody, and runs no jobs, which would be a dozen processes.
		cmd.Env = append(append(os.Environ(), env...), "MLFLOW_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false")
		return cmd
	})
	return server
}
