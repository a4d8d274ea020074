// Package environment reads what whoever installed the operator says about its site by environment variables: the proxy that
// leads out of the cluster, and images to use in place of those of the runtimes. It must read no other setting, and no error or
// log of it may quote a variable: the address of a proxy can hold a password.
package environment

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/operator-framework/operator-lib/proxy"

	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

const (
	httpProxy  = "HTTP_PROXY"
	httpsProxy = "HTTPS_PROXY"
	noProxy    = "NO_PROXY"

	// runtimeImage begins the names of the variables that name the images of runtimes.
	runtimeImage = "RELATED_IMAGE_RUNTIME_"
	// apiServer holds the address of the API server, in every pod.
	apiServer = "KUBERNETES_SERVICE_HOST"
)

// inside is what no proxy outside of the cluster can reach.
var inside = []string{"localhost", "127.0.0.1", "::1", ".svc", ".cluster.local"}

// Found is what the variables say.
type Found struct {
	// Site is what is handed on to what the operator renders.
	Site resolve.Site
	// Withheld are the names of the variables that are not handed on because they hold a user and a password, which everybody
	// who may see a pod would see.
	Withheld []string
}

// Of reads variables by name. The error says which cannot be used, without its value.
func Of(variables map[string]string) (Found, error) {
	var found Found
	out := &found.Site.Proxy
	for name, into := range map[string]*string{httpProxy: &out.HTTP, httpsProxy: &out.HTTPS} {
		value := variables[name]
		if value == "" {
			continue
		}
		address := parse(value)
		switch {
		case address == nil:
			return Found{}, fmt.Errorf("%s is not the address of a proxy, such as http://proxy.example.com:3128", name)
		case address.User != nil || strings.Contains(value, "@"):
			found.Withheld = append(found.Withheld, name)
		default:
			*into = value
		}
	}
	slices.Sort(found.Withheld)
	if out.HTTP != "" || out.HTTPS != "" {
		out.No = except(variables[noProxy])
	}
	for name, image := range variables {
		if runtime, ok := strings.CutPrefix(name, runtimeImage); ok && image != "" {
			if found.Site.RuntimeImages == nil {
				found.Site.RuntimeImages = map[string]string{}
			}
			found.Site.RuntimeImages[strings.ToLower(runtime)] = image
		}
	}
	return found, nil
}

// Adopt reads the variables of this process, and makes its own connections within the cluster go past the proxy. Call it
// before the first connection is made: Go looks at the variables only once.
func Adopt() (Found, error) {
	if err := capitals(); err != nil {
		return Found{}, err
	}
	variables := map[string]string{}
	for _, variable := range proxy.ReadProxyVarsFromEnv() {
		variables[variable.Name] = variable.Value
	}
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, runtimeImage) {
			variables[name] = value
		}
	}
	found, err := Of(variables)
	if err != nil || variables[httpProxy]+variables[httpsProxy] == "" {
		return found, err
	}
	return found, os.Setenv(noProxy, except(variables[noProxy], os.Getenv(apiServer)))
}

// capitals gives variables in small letters, which Go takes as well, the names in capitals, which win.
func capitals() error {
	for _, name := range proxy.ProxyEnvNames {
		if value := os.Getenv(strings.ToLower(name)); value != "" && os.Getenv(name) == "" {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// parse reads the address of a proxy, which may lack the scheme. It is nil where that names no host.
func parse(value string) *url.URL {
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	address, err := url.Parse(value)
	if err != nil || address.Scheme == "" || address.Hostname() == "" {
		return nil
	}
	return address
}

// except adds to a list of exceptions what is inside the cluster, and more. What it holds already stays where it is.
func except(list string, more ...string) string {
	var all []string
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			all = append(all, entry)
		}
	}
	if slices.Contains(all, "*") { // everything is an exception
		return "*"
	}
	for _, entry := range slices.Concat(inside, more) {
		if entry != "" && !slices.Contains(all, entry) {
			all = append(all, entry)
		}
	}
	return strings.Join(all, ",")
}
