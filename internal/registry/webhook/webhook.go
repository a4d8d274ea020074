// Package webhook registers models with whatever receives an HTTP request: an AI gateway, a cloud's registry, a script. Each
// registration and each end of one is a CloudEvent, signed as Standard Webhooks describe.
//
// The receiver holds the entries and their owners, and decides; the operator says who it asks for, and believes the answer.
// docs/registries/webhook.md is the contract. This package must not keep anything that it was told.
package webhook

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/wire"
)

// Backend sends events to one receiver.
type Backend struct {
	conn    *wire.Conn
	key     []byte
	cluster string
	now     func() time.Time
}

var _ registry.Backend = (*Backend)(nil)

// New returns a backend for the receiver of the configuration, which is not contacted.
func New(config registry.Config) (*Backend, error) {
	key, err := parseKey(config.Auth.SigningKey)
	if err != nil {
		return nil, err
	}
	conn, err := wire.New(config)
	if err != nil {
		return nil, err
	}
	return &Backend{conn: conn, key: key, cluster: config.Cluster, now: time.Now}, nil
}

// said is what a receiver may write in its answer; all of it may be left out.
type said struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	URL     string `json:"url"`
	Adopted bool   `json:"adopted"`

	Reason  string    `json:"reason"`
	UID     types.UID `json:"uid"`
	Message string    `json:"message"`
}

// Check sends an event that changes nothing.
func (b *Backend) Check(ctx context.Context) error {
	answer, err := b.send(ctx, "check", checkEvent(b.cluster, b.now()))
	switch {
	case err != nil:
		return err
	case answer.OK():
		return nil
	}
	return answer.Error(read(answer).Message)
}

// Register sends the registration, each time it is called: a receiver can be asked for nothing. It tells a repetition by its ID.
func (b *Backend) Register(ctx context.Context, r registry.Registration) (registry.Entry, error) {
	upsert, err := newEvent(TypeUpsert, r, b.now())
	if err != nil {
		return registry.Entry{}, err
	}
	answer, err := b.send(ctx, "register the model", upsert)
	if err != nil {
		return registry.Entry{}, err
	}
	reply := read(answer)
	entry := registry.Entry{
		Name: r.Name, ID: reply.ID, Version: reply.Version, URL: reply.URL, Adopted: reply.Adopted, Created: !reply.Adopted,
	}
	if entry.Version == "" {
		entry.Version = r.Version
	}
	switch {
	case answer.Status == http.StatusAccepted:
		return entry, answer.Reasoned(registry.InProgress, reply.Message)
	case answer.OK():
		return entry, nil
	case answer.Status == http.StatusConflict && reply.Reason == string(registry.AdoptionRequired):
		return registry.Entry{}, answer.Reasoned(registry.AdoptionRequired, reply.Message)
	case answer.Status == http.StatusConflict:
		return registry.Entry{}, answer.Reasoned(registry.Conflict, reply.Message)
	case answer.Status == http.StatusMethodNotAllowed || answer.Status == http.StatusNotImplemented:
		return registry.Entry{}, answer.Reasoned(registry.Invalid, reply.Message)
	}
	return registry.Entry{}, answer.Error(reply.Message)
}

// Unregister sends the end of the registration.
func (b *Backend) Unregister(ctx context.Context, r registry.Registration, policy registry.DeletionPolicy) error {
	kind, what := TypeDelete, "delete the model"
	switch policy {
	case registry.Archive:
		kind, what = TypeArchive, "archive the model"
	case registry.Orphan:
		kind, what = TypeRelease, "release the model"
	case registry.Delete:
	}
	end, err := newEvent(kind, r, b.now())
	if err != nil {
		return err
	}
	answer, err := b.send(ctx, what, end)
	if err != nil {
		return err
	}
	reply := read(answer)
	switch {
	case answer.Status == http.StatusAccepted:
		return answer.Reasoned(registry.InProgress, reply.Message)
	case answer.OK(), answer.Status == http.StatusGone:
		return nil
	case answer.Status == http.StatusNotFound:
		return b.absent(ctx, answer)
	case answer.Status == http.StatusConflict && reply.Reason == string(registry.OtherIncarnation):
		failure := answer.Reasoned(registry.OtherIncarnation, reply.Message)
		failure.FoundUID = reply.UID
		return failure
	}
	return answer.Error(reply.Message)
}

// absent decides what a 404 means. A receiver without that entry answers so, and also every proxy in front of one that is not
// there: the second also answers 404 to an event that asks for no entry.
func (b *Backend) absent(ctx context.Context, notFound wire.Answer) error {
	answer, err := b.send(ctx, "check", checkEvent(b.cluster, b.now()))
	switch {
	case err != nil:
		return err
	case answer.Status == http.StatusNotFound:
		return notFound.Reasoned(registry.Unreachable, "and so to every event: there is no receiver at this address")
	case answer.OK():
		return nil
	}
	return answer.Error(read(answer).Message)
}

func (b *Backend) send(ctx context.Context, what string, e event) (wire.Answer, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return wire.Answer{}, registry.Errorf(registry.Invalid, "%s: %w", what, err)
	}
	return b.conn.Send(ctx, wire.Request{
		What: what, Method: http.MethodPost, Header: sign(b.key, e.ID, b.now(), body), Body: body,
	})
}

// read reads what a receiver wrote, if it wrote anything that can be read: the status alone decides.
func read(answer wire.Answer) said {
	var reply said
	if json.Unmarshal(answer.Body, &reply) != nil {
		return said{}
	}
	return reply
}
