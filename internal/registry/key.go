package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// keyBytes of a hash make a key: enough that two owners of all clusters that share a registry never meet.
const keyBytes = 16

// Owner is the object that an entry is registered for. Cluster, Namespace and Name are the stable owner, which survives that
// the object is deleted and created again, by GitOps or from a backup; UID is its present incarnation.
type Owner struct {
	Cluster, Namespace, Name string
	UID                      types.UID
}

// Key identifies the stable owner by 32 hexadecimal digits, which are safe in tags, labels, annotations and queries.
func (o Owner) Key() string { return hash(o.Cluster, o.Namespace, o.Name) }

// Same says whether both are the same stable owner.
func (o Owner) Same(other Owner) bool {
	return o.Cluster == other.Cluster && o.Namespace == other.Namespace && o.Name == other.Name
}

// String names the owner for people. It holds no secret.
func (o Owner) String() string { return o.Namespace + "/" + o.Name + " of cluster " + o.Cluster }

// NewKey returns the key of the version of a model that is registered under a name for an owner: 32 hexadecimal digits that are
// always the same for the same. What it is registered with, if that is given, is part of it: two keys that lead to one entry, as they
// do when a server is known by two names, are then still two, and whoever registered last owns the entry.
func NewKey(owner Owner, name, version string, with ...string) string {
	return hash(append([]string{owner.Key(), name, version}, with...)...)
}

func hash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:keyBytes])
}
