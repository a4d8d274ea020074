package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bcrypted is the password of the test, as an htpasswd file has it.
const bcrypted = "$2a$04$/x3juQufakLZOUAYwgEdteXGsA9lte08bilzIbWNou3MM0KpoQDnW"

// OCIOptions says what kind of registry it is.
type OCIOptions struct {
	NoDelete bool
	// Credentials asks for the user and the password of OCI, by HTTP basic authentication.
	Credentials bool
	// Tokens asks for tokens of this service instead.
	Tokens *Tokens
}

// OCI is Debian's docker-registry.
type OCI struct {
	*Process
	URL string
	// Storage is the folder with its repositories.
	Storage        string
	User, Password string
	// Tokens is the service whose tokens it asks for, or nil.
	Tokens *Tokens
}

// StartOCI starts a docker-registry.
func StartOCI(t testing.TB, options OCIOptions) OCI {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		missing(t, "oci", "there is no docker-registry; on Debian: apt-get install docker-registry")
	}
	dir := t.TempDir()
	on := port(t)
	r := OCI{URL: fmt.Sprintf("http://127.0.0.1:%d", on), Storage: filepath.Join(dir, "data")}
	config := fmt.Sprintf("version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\n"+
		"storage:\n  filesystem: {rootdirectory: %s}\n  delete: {enabled: %t}\nhttp: {addr: '127.0.0.1:%d'}\n", r.Storage, !options.NoDelete, on)
	if options.Tokens != nil {
		r.Tokens, r.User, r.Password = options.Tokens, options.Tokens.User, options.Tokens.Password
		config += options.Tokens.config()
	} else if options.Credentials {
		r.User, r.Password = "operator", "the-password-of-the-test"
		file := filepath.Join(dir, "htpasswd")
		write(t, file, r.User+":"+bcrypted+"\n")
		config += fmt.Sprintf("auth: {htpasswd: {realm: registry, path: %s}}\n", file)
	}
	file := filepath.Join(dir, "config.yml")
	write(t, file, config)
	r.Process = run(t, r.URL+"/v2/", func() *exec.Cmd {
		cmd := exec.Command(program, "serve", file)
		cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
		return cmd
	})
	return r
}

func write(t testing.TB, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
