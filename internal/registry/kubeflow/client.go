package kubeflow

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/wire"
)

const (
	stateLive     = "LIVE"
	stateArchived = "ARCHIVED"
	deployed      = "DEPLOYED"
	undeployed    = "UNDEPLOYED"
	pageSize      = "100"
)

// errExists is the registry's own word that a name or an external ID is taken.
var errExists = errors.New("it exists")

// properties are custom properties as the registry has them: some are not strings, and are not the operator's.
type properties map[string]json.RawMessage

type stringValue struct {
	Type  string `json:"metadataType"`
	Value string `json:"string_value"`
}

const typeString = "MetadataStringValue"

// tags are the properties that are strings.
func (p properties) tags() map[string]string {
	tags := map[string]string{}
	for name, raw := range p {
		var value stringValue
		if json.Unmarshal(raw, &value) == nil && value.Type == typeString {
			tags[name] = value.Value
		}
	}
	return tags
}

// with is a copy with some properties set and some removed. What is sent replaces all that the registry has.
func (p properties) with(set map[string]string, remove ...string) properties {
	changed := properties{}
	for name, raw := range p {
		changed[name] = raw
	}
	for _, name := range remove {
		delete(changed, name)
	}
	for name, value := range set {
		raw, err := json.Marshal(stringValue{typeString, value})
		if err != nil {
			panic(err) // strings always can be written
		}
		changed[name] = raw
	}
	return changed
}

// resource is what a registered model, a version, an artifact, an environment and an inference service have in common, and the
// few fields that only some have.
type resource struct {
	ID           string     `json:"id,omitempty"`
	Name         string     `json:"name,omitempty"`
	ExternalID   string     `json:"externalId,omitempty"`
	Description  *string    `json:"description,omitempty"`
	State        string     `json:"state,omitempty"`
	Properties   properties `json:"customProperties"`
	ModelID      string     `json:"registeredModelId,omitempty"`
	VersionID    string     `json:"modelVersionId,omitempty"`
	Environment  string     `json:"servingEnvironmentId,omitempty"`
	DesiredState string     `json:"desiredState,omitempty"`
	Runtime      string     `json:"runtime,omitempty"`
	ArtifactType string     `json:"artifactType,omitempty"`
	URI          string     `json:"uri,omitempty"`
	FormatName   string     `json:"modelFormatName,omitempty"`
}

func (r *resource) marked() registry.Marked { return registry.ReadMarks(r.Properties.tags()) }

// client calls the REST API of the registry. Its errors are of the package registry, but for errExists.
type client struct{ conn *wire.Conn }

type complaint struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (c client) send(ctx context.Context, what, method, path string, query url.Values, body any) (wire.Answer, complaint, error) {
	answer, err := c.conn.Send(ctx, wire.Request{
		What: what, Method: method, Path: "api/model_registry/v1alpha3/" + path, Query: query, JSON: body,
	})
	var said complaint
	if err == nil && !answer.OK() {
		_ = json.Unmarshal(answer.Body, &said) // what is no JSON says nothing
	}
	return answer, said, err
}

// find returns what a finder finds, or nil. Only a finder's own "Not Found" counts: an answer by ID is 404 also when the registry
// has lost its database.
func (c client) find(ctx context.Context, what, finder string, query url.Values) (*resource, error) {
	answer, said, err := c.send(ctx, what, http.MethodGet, finder, query, nil)
	switch {
	case err != nil:
		return nil, err
	case answer.Status == http.StatusNotFound && said.Code == "Not Found":
		return nil, nil
	case !answer.OK():
		return nil, answer.Error(said.Message)
	}
	var found resource
	if err := answer.Decode(&found); err != nil {
		return nil, err
	}
	if found.ID == "" {
		return nil, answer.Reasoned(registry.Unreachable, "what it found has no ID")
	}
	return &found, nil
}

// create creates a resource, or returns errExists.
func (c client) create(ctx context.Context, what, path string, body resource) (*resource, error) {
	if body.Properties == nil {
		body.Properties = properties{}
	}
	answer, said, err := c.send(ctx, what, http.MethodPost, path, nil, body)
	switch {
	case err != nil:
		return nil, err
	case answer.Status == http.StatusConflict && said.Code == "Conflict":
		return nil, errors.Join(errExists, answer.Reasoned(registry.Conflict, said.Message))
	case !answer.OK():
		return nil, answer.Error(said.Message)
	}
	var created resource
	if err := answer.Decode(&created); err != nil {
		return nil, err
	}
	return &created, nil
}

// patch changes a resource. What it leaves out of the properties is removed, and without a state it is un-archived.
func (c client) patch(ctx context.Context, what, path string, body resource) error {
	answer, said, err := c.send(ctx, what, http.MethodPatch, path, nil, body)
	switch {
	case err != nil:
		return err
	case answer.Status == http.StatusMethodNotAllowed:
		return answer.Reasoned(registry.Invalid, said.Message)
	case !answer.OK():
		return answer.Error(said.Message)
	}
	return nil
}

// allArchived says whether every version of a registered model is archived.
func (c client) allArchived(ctx context.Context, modelID string) (bool, error) {
	query := url.Values{"pageSize": {pageSize}}
	path := "registered_models/" + url.PathEscape(modelID) + "/versions"
	for {
		var page struct {
			Items []resource `json:"items"`
			Next  string     `json:"nextPageToken"`
		}
		answer, said, err := c.send(ctx, "list the versions", http.MethodGet, path, query, nil)
		switch {
		case err != nil:
			return false, err
		case !answer.OK():
			return false, answer.Error(said.Message)
		}
		if err := answer.Decode(&page); err != nil {
			return false, err
		}
		for _, v := range page.Items {
			if v.State != stateArchived {
				return false, nil
			}
		}
		if page.Next == "" {
			return true, nil
		}
		query.Set("nextPageToken", page.Next)
	}
}
