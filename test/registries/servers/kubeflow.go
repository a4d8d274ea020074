package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Kubeflow is a Kubeflow Model Registry. Process is nil if it was given.
type Kubeflow struct {
	*Process
	URL string
}

// StartKubeflow returns the registry that KUBEFLOW_MODEL_REGISTRY_URL names, or starts one on a MariaDB of its own. That is done only
// where REQUIRE_REGISTRIES names kubeflow, because it has to be built first, and the tests of a backend ask thousands of times.
func StartKubeflow(t testing.TB) Kubeflow {
	t.Helper()
	if url := os.Getenv("KUBEFLOW_MODEL_REGISTRY_URL"); url != "" {
		return Kubeflow{URL: url}
	}
	if !required("kubeflow") {
		missing(t, "kubeflow", "it has to be built and takes some minutes, so that is only done when asked: make test-registries REQUIRE_REGISTRIES=kubeflow, "+
			"which installs it as root on Debian; or set KUBEFLOW_MODEL_REGISTRY_URL to one")
	}
	program := filepath.Join(root(), "bin", "model-registry")
	if _, err := os.Stat(program); err != nil {
		missing(t, "kubeflow", "there is no "+program+"; make registries REQUIRE_REGISTRIES=kubeflow builds it")
	}
	source := startMariaDB(t)
	on := port(t)
	server := Kubeflow{URL: fmt.Sprintf("http://127.0.0.1:%d", on)}
	dir := t.TempDir()
	server.Process = run(t, server.URL+"/api/model_registry/v1alpha3/registered_models", func() *exec.Cmd {
		cmd := exec.Command(program, "proxy", "--hostname", "127.0.0.1", "--port", fmt.Sprint(on),
			"--embedmd-database-type", "mysql", "--embedmd-database-dsn", source)
		cmd.Dir = dir
		return cmd
	})
	return server
}

// startMariaDB starts a database server with an empty database, and returns how to reach that.
func startMariaDB(t testing.TB) string {
	t.Helper()
	// Debian has the server's program where only root looks for one.
	program := "/usr/sbin/mariadbd"
	install, err := exec.LookPath("mariadb-install-db")
	if _, missed := os.Stat(program); missed != nil || err != nil {
		missing(t, "kubeflow", "its database is not there; on Debian: apt-get install mariadb-server-core mariadb-client-core")
	}
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	where := []string{"--no-defaults", "--datadir=" + data}
	if os.Getuid() == 0 { // it wants that said
		where = append(where, "--user=root")
	}
	made := exec.Command(install, append(where, "--auth-root-authentication-method=normal", "--skip-test-db")...)
	if said, err := made.CombinedOutput(); err != nil {
		t.Fatalf("make the database: %v\n%s", err, said)
	}
	first := filepath.Join(dir, "first.sql")
	write(t, first, "CREATE DATABASE IF NOT EXISTS registry;\n"+
		"CREATE USER IF NOT EXISTS 'registry'@'127.0.0.1' IDENTIFIED BY 'of-the-test';\n"+
		"GRANT ALL ON registry.* TO 'registry'@'127.0.0.1';\n")
	on := port(t)
	runUntil(t, func() error { return connects(on) }, func() *exec.Cmd {
		return exec.Command(program, append(slices.Clone(where), "--socket="+filepath.Join(dir, "s"), "--pid-file="+filepath.Join(dir, "pid"),
			"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", on), "--init-file="+first, "--skip-name-resolve",
			// Nothing here has to outlive the machine.
			"--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--skip-log-bin")...)
	})
	return fmt.Sprintf("registry:of-the-test@tcp(127.0.0.1:%d)/registry?parseTime=true", on)
}
