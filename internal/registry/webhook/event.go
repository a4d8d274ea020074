package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// The types of events. A receiver answers 2xx to a type that it does not know.
const (
	TypeCheck   = "com.example.ai.registry.check"
	TypeUpsert  = "com.example.ai.model.upsert"
	TypeDelete  = "com.example.ai.model.delete"
	TypeArchive = "com.example.ai.model.archive"
	TypeRelease = "com.example.ai.model.release"
)

// event is a CloudEvent in the structured JSON format.
type event struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	Subject         string `json:"subject,omitempty"`
	Time            string `json:"time"`
	DataContentType string `json:"datacontenttype,omitempty"`
	Data            *data  `json:"data,omitempty"`
}

// data is what an event says of a registration. Without its contents, from Source on, in all but an upsert.
type data struct {
	Key     string `json:"key"`
	Owner   owner  `json:"owner"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// EntryID is what the receiver called the entry when it last said so.
	EntryID string `json:"entryID,omitempty"`

	Source         *source           `json:"source,omitempty"`
	Format         string            `json:"format,omitempty"`
	Description    string            `json:"description,omitempty"`
	Tags           map[string]string `json:"tags,omitempty"`
	Servings       []serving         `json:"servings,omitempty"`
	AdoptionPolicy string            `json:"adoptionPolicy,omitempty"`
}

type owner struct {
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

type source struct {
	URI      string `json:"uri,omitempty"`
	Revision string `json:"revision,omitempty"`
}

type serving struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	URL       string `json:"url,omitempty"`
	Runtime   string `json:"runtime,omitempty"`
	Ready     bool   `json:"ready"`
}

// newEvent makes the event of a registration. Its ID is the same for the same operation with the same contents on the same
// incarnation, so that a receiver can tell a repetition.
func newEvent(kind string, r registration, now time.Time) (event, error) {
	contents := &data{
		Key: r.Key, Name: r.Name, Version: r.Version,
		Owner: owner{r.Owner.Cluster, r.Owner.Namespace, r.Owner.Name, string(r.Owner.UID)},
	}
	if kind == TypeUpsert {
		contents.describe(r)
	}
	stable, err := json.Marshal(contents)
	if err != nil {
		return event{}, registry.Errorf(registry.Invalid, "write the event: %w", err)
	}
	// What the receiver said, and what it is allowed to do, is no part of the identity: the contents are the same.
	if kind == TypeUpsert {
		contents.AdoptionPolicy = adoption(r)
	}
	if r.Known != nil {
		contents.EntryID = r.Known.ID
	}
	return event{
		SpecVersion: "1.0", ID: id(kind, stable), Type: kind,
		Source: sourceOf("clusters", r.Owner.Cluster, "namespaces", r.Owner.Namespace, "aimodels", r.Owner.Name),
		// An upsert that arrives late, after a delete, can be told by its time.
		Subject: r.Name + "/" + r.Version, Time: stamp(now), DataContentType: "application/json", Data: contents,
	}, nil
}

type registration = registry.Registration

func (d *data) describe(r registration) {
	if r.SourceURI != "" || r.SourceRevision != "" {
		d.Source = &source{r.SourceURI, r.SourceRevision}
	}
	d.Format, d.Description, d.Tags = r.Format, r.Description, r.Tags
	for _, s := range r.Servings {
		d.Servings = append(d.Servings, serving{s.Kind, s.Namespace, s.Name, s.URL, s.Runtime, s.Ready})
	}
}

// adoption is the policy that the receiver shall go by: what was ours, and was taken by somebody, is not taken back.
func adoption(r registration) string {
	if r.Known != nil && r.Adoption == registry.AdoptAlways {
		return string(registry.AdoptIfUnowned)
	}
	return string(r.Adoption)
}

// checkEvent makes an event that says nothing: its answer tells whether events are received.
func checkEvent(cluster string, now time.Time) event {
	return event{
		SpecVersion: "1.0", ID: id(TypeCheck, []byte(now.UTC().Format(time.RFC3339Nano))), Type: TypeCheck,
		Source: sourceOf("clusters", cluster), Time: stamp(now),
	}
}

func stamp(now time.Time) string { return now.UTC().Format(time.RFC3339Nano) }

// sourceOf makes a URI reference of the segments of a path.
func sourceOf(segments ...string) string {
	var path strings.Builder
	for _, segment := range segments {
		fmt.Fprintf(&path, "/%s", url.PathEscape(segment))
	}
	return path.String()
}

func id(kind string, contents []byte) string {
	sum := sha256.Sum256(append([]byte(kind+"\x00"), contents...))
	return "evt_" + hex.EncodeToString(sum[:16])
}

// sign returns the headers of Standard Webhooks for a body. Without a key the body is not signed, but named and dated.
func sign(key []byte, id string, now time.Time, body []byte) http.Header {
	at := strconv.FormatInt(now.Unix(), 10)
	header := http.Header{}
	header.Set("Content-Type", "application/cloudevents+json; charset=utf-8")
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", at)
	if len(key) > 0 {
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
		header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return header
}

const keyPrefix = "whsec_"

// parseKey reads a signing key: base64 behind the prefix of Standard Webhooks, or else bytes as they are.
func parseKey(secret []byte) ([]byte, error) {
	encoded, prefixed := strings.CutPrefix(strings.TrimSpace(string(secret)), keyPrefix)
	if !prefixed {
		return secret, nil
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 { // the decoder's error quotes nothing, but tells where
		return nil, registry.Errorf(registry.Invalid, "the signing key begins with %q, and what follows is not base64", keyPrefix)
	}
	return key, nil
}
