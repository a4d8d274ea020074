package registration

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/metrics"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

const (
	// resync is how long what was registered is believed to be still so.
	resync = time.Hour

	// The pauses between tries: of what may pass by itself, and of what somebody has to mend.
	firstPause, lastPause       = time.Second, 5 * time.Minute
	firstPatience, lastPatience = 15 * time.Second, 10 * time.Minute
)

// memory is what the controller knows of models beside their status. It is lost with the process, which costs one look at each
// entry after a restart, and no write.
type memory struct {
	mu      sync.Mutex
	models  map[types.NamespacedName]*remembered
	blocked map[types.NamespacedName]bool
}

// remembered is what is known of one model. Only its worker changes it, but for hurry.
type remembered struct {
	mu  sync.Mutex
	uid types.UID
	// version is the resource version of the last write.
	version string
	// held is the model as it was last, while its finalizer should keep it from going before it is cleaned up.
	held *aiv1.AIModel
	// digest is what was registered last; checkedAt when, or when it was tried.
	digest  string
	checked time.Time
	// failures in a row, and until when to wait after them.
	failures  int
	notBefore time.Time
}

func (m *memory) of(name types.NamespacedName, uid types.UID) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.models == nil {
		m.models, m.blocked = map[types.NamespacedName]*remembered{}, map[types.NamespacedName]bool{}
	}
	known := m.models[name]
	if known == nil || known.uid != uid {
		known = &remembered{uid: uid}
		m.models[name] = known
	}
	return known
}

// isAnother says whether what is known is of an earlier incarnation.
func (m *memory) isAnother(name types.NamespacedName, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.models[name] != nil && m.models[name].uid != uid
}

// known is what is known of a model of that name, or nil.
func (m *memory) known(name types.NamespacedName) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.models[name]
}

func (m *memory) forget(name types.NamespacedName) {
	m.mu.Lock()
	delete(m.models, name)
	m.mu.Unlock()
	m.unblock(name)
}

// hurry ends the pause of a model: what it waits for may have come.
func (m *memory) hurry(name types.NamespacedName) {
	if known := m.known(name); known != nil {
		known.mu.Lock()
		defer known.mu.Unlock()
		known.notBefore = time.Time{}
	}
}

func (m *memory) block(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.blocked[name] {
		m.blocked[name] = true
		metrics.AddBlockedCleanups(1)
	}
}

func (m *memory) unblock(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blocked[name] {
		delete(m.blocked, name)
		metrics.AddBlockedCleanups(-1)
	}
}

func (k *remembered) wrote(model *aiv1.AIModel) { k.version = model.ResourceVersion }

// hold keeps the model if it has the finalizer and is to stay.
func (k *remembered) hold(model *aiv1.AIModel) {
	k.held = nil
	if model.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(model, aiv1.FinalizerRegistryCleanup) {
		k.held = model
	}
}

// newer says whether the model was written since that copy of it.
func (k *remembered) newer(model *aiv1.AIModel) bool {
	if k.version == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(model.ResourceVersion, k.version)
	return err == nil && order < 0
}

// succeeded notes that what has this digest is registered, and says when to look again.
func (k *remembered) succeeded(digest string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.digest, k.checked, k.failures, k.notBefore = digest, time.Now(), 0, time.Time{}
}

// upToDate says whether what has this digest was registered within the last hour, and how long that may be believed.
func (k *remembered) upToDate(digest string) (time.Duration, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	left := resync - time.Since(k.checked)
	return wait.Jitter(max(left, time.Second), 0.1), k.failures == 0 && k.digest == digest && left > 0
}

// failed notes a failure, and says how long to wait.
func (k *remembered) failed(digest string, problem *registry.Error) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	first, last := firstPatience, lastPatience
	if problem.Passes() {
		first, last = firstPause, lastPause
	}
	if k.digest != digest {
		k.failures = 0
	}
	pause := max(wait.Jitter(min(first<<min(k.failures, 10), last), 0.3), problem.RetryAfter)
	k.digest, k.failures, k.notBefore = digest, k.failures+1, time.Now().Add(pause)
	return pause
}

// pausing says how long to wait still before what has this digest is tried again, or 0.
func (k *remembered) pausing(digest string) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.digest != digest {
		return 0
	}
	return max(time.Until(k.notBefore), 0)
}
