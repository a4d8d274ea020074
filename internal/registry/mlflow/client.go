package mlflow

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/wire"
)

// pageSize is how many entries a search asks for at a time.
const pageSize = "200"

// errAbsent and errExists are what MLflow itself says of a thing, whatever the status.
var (
	errAbsent = errors.New("there is no such thing")
	errExists = errors.New("it exists")
)

// forbiddenError is in errors by which MLflow says that the user may not do that. It says the same of what is not there, where users
// have no permission by default.
type forbiddenError struct{ error }

func isForbidden(err error) bool {
	var inside forbiddenError
	return errors.As(err, &inside)
}

func forbidden(err *registry.Error) *registry.Error {
	err.Err = forbiddenError{err.Err}
	return err
}

// client calls MLflow's REST API. Its errors are of the package registry, but for the two above.
type client struct {
	conn      *wire.Conn
	workspace string
}

type tag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// version is a version of a registered model.
type version struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Source      string `json:"source"`
	Description string `json:"description"`
	Tags        []tag  `json:"tags"`
}

func (v version) tags() map[string]string { return mapOf(v.Tags) }

func mapOf(list []tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, t := range list {
		tags[t.Key] = t.Value
	}
	return tags
}

// model is a registered model, which holds versions.
type model struct {
	Name string `json:"name"`
	Tags []tag  `json:"tags"`
}

// call sends a request, and reads the answer into a value unless it is nil.
func (c client) call(ctx context.Context, what, method, path string, query url.Values, body, into any) error {
	header := http.Header{}
	if c.workspace != "" {
		header.Set("X-Mlflow-Workspace", c.workspace)
	}
	answer, err := c.conn.Send(ctx, wire.Request{
		What: what, Method: method, Path: "api/2.0/mlflow/" + path, Query: query, Header: header, JSON: body,
	})
	switch {
	case err != nil:
		return err
	case !answer.OK():
		return explain(answer)
	case into == nil:
		return nil
	}
	return answer.Decode(into)
}

// explain makes an error of an answer, by MLflow's code for it: the same status comes for different reasons, and from proxies.
func explain(answer wire.Answer) error {
	var said struct {
		Code    string `json:"error_code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(answer.Body, &said) != nil {
		return explainText(answer)
	}
	switch said.Code {
	case "RESOURCE_DOES_NOT_EXIST":
		if strings.HasPrefix(said.Message, "Workspace '") {
			// What was in a workspace that is deleted may live on in another.
			return answer.Reasoned(registry.Invalid, said.Message)
		}
		return errors.Join(errAbsent, answer.Reasoned(registry.Invalid, said.Message))
	case "RESOURCE_ALREADY_EXISTS":
		return errors.Join(errExists, answer.Reasoned(registry.Conflict, said.Message))
	case "INVALID_PARAMETER_VALUE", "BAD_REQUEST", "MALFORMED_REQUEST", "FEATURE_DISABLED", "INVALID_STATE":
		return answer.Reasoned(registry.Invalid, said.Message)
	case "PERMISSION_DENIED":
		return forbidden(answer.Reasoned(registry.Unauthorized, said.Message))
	case "UNAUTHENTICATED", "CUSTOMER_UNAUTHORIZED":
		return answer.Reasoned(registry.Unauthorized, said.Message)
	case "REQUEST_LIMIT_EXCEEDED", "RESOURCE_EXHAUSTED":
		return answer.Reasoned(registry.RateLimited, said.Message)
	case "TEMPORARILY_UNAVAILABLE", "INTERNAL_ERROR", "DEADLINE_EXCEEDED":
		return answer.Reasoned(registry.Unreachable, said.Message)
	}
	return answer.Error(said.Message)
}

// explainText is explain for what MLflow says in plain text: its authentication, and its look at the name of the host.
func explainText(answer wire.Answer) error {
	text := strings.TrimSpace(string(answer.Body))
	switch {
	case answer.Status == http.StatusForbidden && strings.Contains(text, "Invalid Host header"):
		return answer.Reasoned(registry.Invalid, "MLflow does not answer to this name of its host: see its option --allowed-hosts")
	case answer.Status == http.StatusForbidden && text == "Permission denied":
		return forbidden(answer.Reasoned(registry.Unauthorized, "MLflow gives this user no permission for it"))
	case answer.Status == http.StatusUnauthorized && strings.HasPrefix(text, "You are not authenticated"):
		return answer.Reasoned(registry.Unauthorized, "MLflow knows no such user with this password")
	}
	return answer.Error("")
}

// search returns all versions that a filter finds, the oldest first.
func (c client) search(ctx context.Context, filter string) ([]version, error) {
	var found []version
	query := url.Values{"filter": {filter}, "max_results": {pageSize}, "order_by": {"version_number ASC"}}
	for {
		var page struct {
			Versions []version `json:"model_versions"`
			Next     string    `json:"next_page_token"`
		}
		if err := c.call(ctx, "search for the version", http.MethodGet, "model-versions/search", query, nil, &page); err != nil {
			return nil, err
		}
		found = append(found, page.Versions...)
		if page.Next == "" {
			return found, nil
		}
		query.Set("page_token", page.Next)
	}
}

// hasVersions says whether a registered model has any version.
func (c client) hasVersions(ctx context.Context, name string) (bool, error) {
	var page struct {
		Versions []version `json:"model_versions"`
	}
	query := url.Values{"filter": {"name = '" + name + "'"}, "max_results": {"1"}}
	err := c.call(ctx, "search for other versions", http.MethodGet, "model-versions/search", query, nil, &page)
	return len(page.Versions) > 0, err
}

// needWorkspaces fails if the backend has a workspace, and the server has none: before 3.10, it ignores that one is named.
func (c client) needWorkspaces(ctx context.Context) error {
	if c.workspace == "" {
		return nil
	}
	const what = "look for the workspace"
	answer, err := c.conn.Send(ctx, wire.Request{What: what, Method: http.MethodGet, Path: "api/3.0/mlflow/server-info"})
	if err != nil {
		return err
	}
	var info struct {
		Enabled bool `json:"workspaces_enabled"`
	}
	switch {
	case answer.OK():
		if err := answer.Decode(&info); err != nil {
			return err
		}
	case answer.Status != http.StatusNotFound: // it has no such page before 3.10
		return explain(answer)
	}
	if !info.Enabled {
		return registry.Errorf(registry.Invalid,
			"%s: this MLflow has no workspaces; they need its version 3.10, and its option --enable-workspaces", what)
	}
	return nil
}

// get returns a version by its number, or errAbsent.
func (c client) get(ctx context.Context, name, number string) (version, error) {
	var got struct {
		Version version `json:"model_version"`
	}
	err := c.call(ctx, "read the version", http.MethodGet, "model-versions/get", url.Values{"name": {name}, "version": {number}}, nil, &got)
	return got.Version, err
}

// model returns a registered model, or errAbsent.
func (c client) model(ctx context.Context, name string) (model, error) {
	var got struct {
		Model model `json:"registered_model"`
	}
	err := c.call(ctx, "read the registered model", http.MethodGet, "registered-models/get", url.Values{"name": {name}}, nil, &got)
	return got.Model, err
}

// createModel creates a registered model, or returns errExists.
func (c client) createModel(ctx context.Context, name string, tags ...tag) error {
	return c.call(ctx, "create the registered model", http.MethodPost, "registered-models/create", nil,
		map[string]any{"name": name, "tags": tags}, nil)
}

func (c client) deleteModel(ctx context.Context, name string) error {
	return c.call(ctx, "delete the registered model", http.MethodDelete, "registered-models/delete", nil, map[string]any{"name": name}, nil)
}

// createVersion creates the next version of a registered model, each time that it is called.
func (c client) createVersion(ctx context.Context, v version) error {
	return c.call(ctx, "create the version", http.MethodPost, "model-versions/create", nil,
		map[string]any{"name": v.Name, "source": v.Source, "description": v.Description, "tags": v.Tags}, nil)
}

func (c client) deleteVersion(ctx context.Context, v version) error {
	return c.call(ctx, "delete the version", http.MethodDelete, "model-versions/delete", nil,
		map[string]any{"name": v.Name, "version": v.Version}, nil)
}

func (c client) describe(ctx context.Context, v version, description string) error {
	return c.call(ctx, "describe the version", http.MethodPatch, "model-versions/update", nil,
		map[string]any{"name": v.Name, "version": v.Version, "description": description}, nil)
}

func (c client) setTag(ctx context.Context, v version, name, value string) error {
	return c.call(ctx, "set a tag of the version", http.MethodPost, "model-versions/set-tag", nil,
		map[string]any{"name": v.Name, "version": v.Version, "key": name, "value": value}, nil)
}

func (c client) deleteTag(ctx context.Context, v version, name string) error {
	return c.call(ctx, "delete a tag of the version", http.MethodDelete, "model-versions/delete-tag", nil,
		map[string]any{"name": v.Name, "version": v.Version, "key": name}, nil)
}
