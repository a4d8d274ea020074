package values

import (
	"strings"

	"github.com/aimodel-operator/aimodel-operator/internal/resolve"
)

// apiServer is expanded by the kubelet, in every container.
const apiServer = ",$(KUBERNETES_SERVICE_HOST)"

// throughProxy gives the server and what runs before it the proxy of the site, in capitals and in small letters, because
// programs know one or the other. A variable that the user gives, in either spelling, keeps both of ours out.
func throughProxy(values map[string]any, in resolve.Inputs) {
	proxy := in.Site.Proxy
	if proxy.HTTP == "" && proxy.HTTPS == "" {
		return
	}
	given := map[string]bool{}
	if c := in.Credentials; c != nil && !c.ImagePull {
		for _, key := range c.Keys {
			given[strings.ToUpper(key)] = true
		}
	}
	values["env"] = withProxy(proxy, values["env"], given)

	containers, _ := values["initContainers"].([]any)
	if len(containers) == 0 {
		return
	}
	out := make([]any, len(containers))
	for i, container := range containers {
		out[i] = container
		if fields, ok := container.(map[string]any); ok {
			out[i] = merge(fields, map[string]any{"env": withProxy(proxy, fields["env"], nil)})
		}
	}
	values["initContainers"] = out
}

// withProxy puts the variables of the proxy before others, which may refer to them, but for those that are given.
func withProxy(proxy resolve.Proxy, others any, alsoGiven map[string]bool) []any {
	env, _ := others.([]any)
	given := map[string]bool{}
	for _, variable := range env {
		if v, ok := variable.(map[string]any); ok {
			name, _ := v["name"].(string)
			given[strings.ToUpper(name)] = true
		}
	}
	exceptions := literal(proxy.No)
	if proxy.No != "*" {
		exceptions += apiServer
	}
	var out []any
	for _, variable := range []struct{ name, value string }{
		{"HTTP_PROXY", literal(proxy.HTTP)}, {"HTTPS_PROXY", literal(proxy.HTTPS)}, {"NO_PROXY", exceptions},
	} {
		if variable.value == "" || given[variable.name] || alsoGiven[variable.name] {
			continue
		}
		for _, name := range []string{variable.name, strings.ToLower(variable.name)} {
			out = append(out, map[string]any{"name": name, "value": variable.value})
		}
	}
	return append(out, env...)
}

// literal keeps Kubernetes from expanding $(NAME) in a value.
func literal(value string) string { return strings.ReplaceAll(value, "$", "$$") }
