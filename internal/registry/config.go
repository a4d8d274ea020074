package registry

import (
	"net/http"
)

// The kinds of registries, as ModelRegistry's spec.type names them.
const (
	KindMLflow   = "MLflow"
	KindKubeflow = "KubeflowModelRegistry"
	KindOCI      = "OCI"
	KindWebhook  = "Webhook"
)

// Config is what a backend needs to reach its registry.
type Config struct {
	// URL is the address of the registry: http or https, with a path where there is one, without credentials.
	URL string
	// HTTPClient trusts what shall be trusted, presents the client certificate if there is one, and has the timeouts.
	// It does not add credentials: see Auth. NewHTTPClient makes it.
	HTTPClient *http.Client
	Auth       Auth
	// Workspace is MLflow's workspace, or empty.
	Workspace string
	// Cluster is the identity of this cluster, by which events name their source.
	Cluster string
}

// Auth is how the operator proves who it is. It never prints what it holds.
type Auth struct {
	// Username and Password are for HTTP basic authentication.
	Username, Password string
	// Token is a bearer token; it wins over a password.
	Token string
	// SigningKey signs the events of a webhook, or is empty.
	SigningKey []byte
}

// Apply adds the credentials to a request.
func (a Auth) Apply(request *http.Request) {
	switch {
	case a.Token != "":
		request.Header.Set("Authorization", "Bearer "+a.Token)
	case a.Username != "" || a.Password != "":
		request.SetBasicAuth(a.Username, a.Password)
	}
}

// String says which credentials there are, and never what they are.
func (a Auth) String() string {
	switch {
	case a.Token != "":
		return "bearer token"
	case a.Username != "" || a.Password != "":
		return "user name and password"
	default:
		return "none"
	}
}

// GoString is String: %#v must not show more.
func (a Auth) GoString() string { return a.String() }
