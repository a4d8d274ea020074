// Package permissions says what roles grant and what was asked of an API server in the same words, so that tests can compare
// the two: "verb group/resource". It reads rules, requests and audit logs, and must not reach a cluster.
package permissions

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// longestEvent is the longest line that an audit log without bodies may have.
const longestEvent = 1 << 20

// decision is the annotation of an audit event in which the API server says whether the user has the permission.
const decision = "authorization.k8s.io/decision"

// Granted lists, sorted, what rules allow. Rules about paths that are no resources are left out.
func Granted(rules []rbacv1.PolicyRule) []string {
	granted := map[string]bool{}
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				// Nothing is sent to finalizers: to update them is what Kubernetes may ask of whoever sets owner references.
				if strings.HasSuffix(resource, "/finalizers") {
					continue
				}
				for _, verb := range rule.Verbs {
					granted[verb+" "+group+"/"+resource] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(granted))
}

// Used gathers what was asked for.
type Used map[string]bool

// Add notes a request. Discovery and other paths that are no resources need no permission and are left out.
func (u Used) Add(method, path string, watch bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	if parts[0] == "apis" && len(parts) > 1 {
		group, parts = parts[1], parts[1:]
	}
	if len(parts) < 3 {
		return
	}
	if parts = parts[2:]; parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPatch: "patch", http.MethodPut: "update", http.MethodDelete: "delete"}[method]
	switch {
	case watch:
		verb = "watch"
	case verb == "" && len(parts) > 1:
		verb = "get"
	case verb == "":
		verb = "list"
	}
	resource := parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	u.add(verb, group, resource)
}

func (u Used) add(verb, group, resource string) {
	u[verb+" "+group+"/"+resource] = true
	if verb == "watch" {
		// An API server that cannot send what there is at the beginning of a watch is asked for a list first.
		u["list "+group+"/"+resource] = true
	}
}

// Sorted lists what was asked for.
func (u Used) Sorted() []string { return slices.Sorted(maps.Keys(u)) }

// auditEvent is what is read of a line of an audit log.
type auditEvent struct {
	Verb, RequestURI, UserAgent string
	User                        struct{ Username string }
	ObjectRef                   *struct{ APIGroup, Resource, Subresource string }
	ResponseStatus              struct{ Code int }
	Annotations                 map[string]string
}

// readAudit visits the events of an audit log with one JSON event a line. A last line that is half written is left out.
func readAudit(log io.Reader, visit func(*auditEvent)) error {
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, longestEvent)
	for lines.Scan() {
		event := &auditEvent{}
		if json.Unmarshal(lines.Bytes(), event) == nil {
			visit(event)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	return nil
}

// ReadAudit returns what a user asked for, and the requests that were refused for want of a permission, from an audit log.
func ReadAudit(log io.Reader, user string) (used Used, refused []string, err error) {
	used = Used{}
	err = readAudit(log, func(event *auditEvent) {
		if event.User.Username != user {
			return
		}
		// Admission answers 403 too, as for a namespace that is being deleted, to whoever has the permission.
		if event.ResponseStatus.Code == http.StatusForbidden && event.Annotations[decision] != "allow" {
			refused = append(refused, event.Verb+" "+event.RequestURI)
		}
		if event.ObjectRef == nil || event.ObjectRef.Resource == "" {
			return
		}
		resource := event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			resource += "/" + event.ObjectRef.Subresource
		}
		used.add(event.Verb, event.ObjectRef.APIGroup, resource)
	})
	return used, refused, err
}

// Requests counts, by user, those of an audit log from programs that call themselves agent.
func Requests(log io.Reader, agent string) (map[string]int, error) {
	of := map[string]int{}
	err := readAudit(log, func(event *auditEvent) {
		if event.UserAgent == agent {
			of[event.User.Username]++
		}
	})
	return of, err
}
