// Package connections keeps one connection for each ModelRegistry: the backend with its credentials, and the guard that
// bounds its use. It reads Secrets, and must not hand on what is in them, nor write anything to the cluster.
package connections

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
	"github.com/aimodel-operator/aimodel-operator/internal/registry/guard"
	"github.com/aimodel-operator/aimodel-operator/internal/tracing"
)

const (
	// secretTTL is how long what was read of a Secret is used without another look.
	secretTTL = time.Minute
	// inFlight is how many calls to one registry run at a time. It is less than the operator's workers for registries, so that a
	// registry that hangs leaves some to the others.
	inFlight       = 4
	defaultTimeout = 10 * time.Second
)

// ErrSecretNotFound says that the Secret of a registry does not exist.
var ErrSecretNotFound = errors.New("the Secret does not exist")

// Factory makes the backend of a kind.
type Factory func(kind string, config registry.Config) (registry.Backend, error)

// Connections is safe for concurrent use.
type Connections struct {
	// Live reads Secrets, past every cache.
	Live client.Reader
	// New makes backends.
	New Factory
	// Cluster is the identity of this cluster.
	Cluster string
	// UserAgent is how the operator names itself to registries.
	UserAgent string
	// Wake is called with the name of an object that was refused for want of room, once there is room.
	Wake func(types.NamespacedName)

	mu     sync.Mutex
	byName map[types.NamespacedName]*slot
}

// slot holds the connection of one ModelRegistry.
type slot struct {
	mu  sync.Mutex
	uid types.UID
	// spec is what the connection was made from. The generation would not do: the deletion of the ModelRegistry moves it too, and
	// just then the connection is needed, because the Secret may be gone.
	spec       v1alpha1.ModelRegistrySpec
	secret     string // the UID and resource version of the Secret that was used
	readAt     time.Time
	guard      *guard.Guard[types.NamespacedName]
	connection *Connection
}

// Open returns the connection of a ModelRegistry. The Secret is read again when it was read more than a minute ago. If it is
// gone, the error wraps ErrSecretNotFound; only for a cleanup, what was read of it before is used on. Other errors are
// *registry.Error, or a failed read that is worth a retry.
func (c *Connections) Open(ctx context.Context, of *v1alpha1.ModelRegistry, cleanup bool) (*Connection, error) {
	s := c.slotOf(client.ObjectKeyFromObject(of))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uid != of.UID {
		s.uid, s.connection, s.guard = of.UID, nil, guard.New(inFlight, c.wake)
	}
	current := s.connection != nil && equality.Semantic.DeepEqual(s.spec, of.Spec)
	if current && time.Since(s.readAt) < secretTTL {
		return s.connection, nil
	}
	secret, err := c.secretOf(ctx, of)
	switch {
	case err != nil && cleanup && current && errors.Is(err, ErrSecretNotFound):
		return s.connection, nil
	case err != nil:
		return nil, err
	}
	s.readAt = time.Now()
	version := string(secret.UID) + "/" + secret.ResourceVersion
	if current && s.secret == version {
		return s.connection, nil
	}
	connection, err := c.connect(of, secret, s)
	if err != nil {
		return nil, err
	}
	if s.connection != nil {
		s.connection.close()
	}
	s.connection, s.spec, s.secret = connection, *of.Spec.DeepCopy(), version
	return connection, nil
}

// Last returns the connection that was opened last for a ModelRegistry that may be gone, or nil.
func (c *Connections) Last(name types.NamespacedName) *Connection {
	c.mu.Lock()
	s := c.byName[name]
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connection
}

// Forget drops the connection of a ModelRegistry that is gone and that nothing uses.
func (c *Connections) Forget(name types.NamespacedName) {
	c.mu.Lock()
	s := c.byName[name]
	delete(c.byName, name)
	c.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connection != nil {
		s.connection.close()
	}
}

func (c *Connections) slotOf(name types.NamespacedName) *slot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[types.NamespacedName]*slot{}
	}
	s := c.byName[name]
	if s == nil {
		s = &slot{}
		c.byName[name] = s
	}
	return s
}

// secretOf reads the Secret of a registry. A registry without one has an empty one.
func (c *Connections) secretOf(ctx context.Context, of *v1alpha1.ModelRegistry) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if of.Spec.Auth == nil {
		return secret, nil
	}
	name := of.Spec.Auth.SecretName
	err := c.Live.Get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read Secret %q of ModelRegistry %q: %w", name, of.Name, ErrSecretNotFound)
	case apierrors.IsForbidden(err):
		return nil, registry.Errorf(registry.Unauthorized, "the operator may not read Secret %q in namespace %q: "+
			"bind ClusterRole aimodel-operator-credentials-reader to its service account there", name, of.Namespace)
	case err != nil:
		return nil, fmt.Errorf("read Secret %q: %w", name, err)
	}
	return secret, nil
}

func (c *Connections) connect(of *v1alpha1.ModelRegistry, secret *corev1.Secret, s *slot) (*Connection, error) {
	timeout := defaultTimeout
	if of.Spec.Timeout != nil {
		timeout = of.Spec.Timeout.Duration
	}
	httpClient, err := registry.NewHTTPClient(registry.Transport{
		CABundle:     []byte(of.Spec.CABundle),
		ClientCert:   secret.Data[v1alpha1.SecretKeyClientCert],
		ClientKey:    secret.Data[v1alpha1.SecretKeyClientKey],
		Timeout:      timeout,
		UserAgent:    c.UserAgent,
		ConnsPerHost: 2 * inFlight,
	})
	if err != nil {
		return nil, err
	}
	httpClient.Transport = tracing.Outside(httpClient.Transport, of.Spec.URL)
	backend, err := c.New(string(of.Spec.Type), registry.Config{
		URL:        of.Spec.URL,
		HTTPClient: httpClient,
		Auth: registry.Auth{
			Username:   string(secret.Data[v1alpha1.SecretKeyUsername]),
			Password:   string(secret.Data[v1alpha1.SecretKeyPassword]),
			Token:      string(secret.Data[v1alpha1.SecretKeyToken]),
			SigningKey: secret.Data[v1alpha1.SecretKeySigningKey],
		},
		Workspace: of.Spec.Workspace,
		Cluster:   c.Cluster,
	})
	if err != nil {
		return nil, err
	}
	connection := &Connection{
		kind: string(of.Spec.Type), backend: backend, guard: s.guard, timeout: timeout, close: httpClient.CloseIdleConnections,
	}
	connection.stale = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.readAt = time.Time{}
	}
	return connection, nil
}

func (c *Connections) wake(object types.NamespacedName) {
	if c.Wake != nil {
		c.Wake(object)
	}
}
