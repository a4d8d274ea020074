// Package conformance is what every backend of a model registry has to do, as tests against a real registry: one entry per
// registration whatever goes wrong, nothing of anybody else touched, nothing left behind, no secret told.
//
// A backend's test calls Run with a way to make the backend, and a way to look into its registry that does not go through it.
package conformance

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// Target is a backend and its registry.
type Target struct {
	New func(registry.Config) (registry.Backend, error)
	// Config reaches the registry, with credentials where it asks for some. The suite makes the HTTP client.
	Config registry.Config
	Server Server
	// AlwaysSends is true for a backend that cannot read its registry, and sends what it wants each time. The registry
	// then writes nothing.
	AlwaysSends bool
	// ListsNoServings is true if the registry has no place for where a model is served.
	ListsNoServings bool
	// DeleteArchives is true if the registry deletes nothing: Delete then leaves an archived entry.
	DeleteArchives bool
	// ByHand is the name of the version that Server.Add makes in an empty model; "1.0" if it is empty. Some registries count.
	ByHand string
	// Coarse lets only some of the requests of an operation go wrong, for a backend that needs dozens of them.
	Coarse bool
	// CutsOnly lets requests go wrong only by a cut after the registry acted, for a backend that meets the other faults elsewhere.
	CutsOnly bool
	// HidesAbsent is true if the registry answers to what is not there as to what the user may not see: to tell them apart, something
	// is made and taken away again.
	HidesAbsent bool
	// OneAtATime is for a registry that answers requests at the same time with errors of its own.
	OneAtATime bool
	// Many is how many models are registered at once.
	Many int
}

// Server looks into the registry directly, as an administrator.
type Server interface {
	// Entries are all entries of a model, sorted by version.
	Entries(t testing.TB, name string) []Entry
	// Add makes an entry as somebody else would, without the operator's marks.
	Add(t testing.TB, name, version string, tags map[string]string)
	// Dump is everything that the registry holds under names with a prefix, as text that is the same for the same.
	Dump(t testing.TB, prefix string) string
}

// Entry is an entry as the registry has it.
type Entry struct {
	// Version is the user's name of the version.
	Version string
	// Tags are all tags, with the operator's marks among them.
	Tags     map[string]string
	Archived bool
	// Servings are the URLs at which the registry says that it is served.
	Servings []string
}

const (
	requestTimeout = 20 * time.Second
	slowTimeout    = 400 * time.Millisecond
)

// suite is one run against one target.
type suite struct {
	Target
	// address is the registry's own.
	address string
	proxy   *Proxy
	// backend is patient, hasty gives up soon.
	backend, hasty registry.Backend
	prefix         string
	count          *atomic.Int64
}

// Run runs all tests.
func Run(t *testing.T, target Target) {
	if target.ByHand == "" {
		target.ByHand = "1.0"
	}
	address := target.Config.URL
	proxy := NewProxy(t, address)
	target.Config.URL = proxy.URL
	// Two runs on one registry that stays do not meet.
	s := &suite{Target: target, address: address, proxy: proxy, prefix: fmt.Sprintf("c%x", time.Now().UnixNano()), count: &atomic.Int64{}}
	s.backend, s.hasty = s.make(t, requestTimeout), s.make(t, slowTimeout)
	for _, part := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"registers once and writes nothing twice", s.registersOnce},
		{"keeps tags in step and leaves those of others", s.keepsTags},
		{"tells where the model is served", s.tellsServings},
		{"takes back what an object of the same name had", s.takesBack},
		{"keeps versions of one model apart", s.keepsVersionsApart},
		{"leaves what another owner has", s.leavesOthers},
		{"adopts what is nobody's only when asked", s.adopts},
		{"takes over only when asked, and never back", s.takesOver},
		{"ends a registration by its policy", s.endsByPolicy},
		{"is told when another object of that name has the entry", s.otherIncarnation},
		{"several at once make one entry", s.concurrent},
		{"two owners at once: one has it", s.contended},
		{"many come and go and leave nothing", s.many},
		{"checks without writing", s.checks},
		{"no fault makes a second entry or touches another's", s.faults},
		{"wrong credentials are named, not shown", s.wrongCredentials},
	} {
		t.Run(part.name, func(t *testing.T) {
			defer s.proxy.Disarm()
			part.run(t)
		})
	}
}

func (s *suite) make(t *testing.T, timeout time.Duration) registry.Backend {
	t.Helper()
	config := s.Config
	var err error
	if config.HTTPClient, err = registry.NewHTTPClient(registry.Transport{Timeout: timeout}); err != nil {
		t.Fatal(err)
	}
	backend, err := s.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return backend
}

// name is one that nothing has yet.
func (s *suite) name() string { return fmt.Sprintf("%s-%d", s.prefix, s.count.Add(1)) }

// registration is one of version 1.0 of a new model, changed.
func (s *suite) registration(change ...func(*registry.Registration)) registry.Registration {
	r := registry.Registration{
		Owner:     registry.Owner{Cluster: "cluster-1", Namespace: "team-a", Name: "llama", UID: "uid-1"},
		Name:      s.name(),
		Version:   "1.0",
		SourceURI: "hf://meta-llama/Llama-3.1-8B", SourceRevision: "main", Format: "safetensors",
		Description: "Says \"what\" it is:\nün línea más",
		Tags:        map[string]string{"team": "search", "stage": "beta"},
		Adoption:    registry.AdoptNever,
	}
	return with(r, change...)
}

// with is the registration, changed, with the key that then is right.
func with(r registry.Registration, change ...func(*registry.Registration)) registry.Registration {
	for _, c := range change {
		c(&r)
	}
	r.Key = registry.NewKey(r.Owner, r.Name, r.Version)
	return r
}

func otherCluster(r *registry.Registration)      { r.Owner.Cluster, r.Owner.UID = "cluster-2", "uid-2" }
func (s *suite) byHand(r *registry.Registration) { r.Version = s.ByHand }

func sameAgain(r *registry.Registration) { r.Owner.UID = "uid-later" }

func adopting(policy registry.AdoptionPolicy) func(*registry.Registration) {
	return func(r *registry.Registration) { r.Adoption = policy }
}

// register registers what must succeed.
func (s *suite) register(t *testing.T, r registry.Registration) registry.Entry {
	t.Helper()
	entry, err := s.backend.Register(t.Context(), r)
	if err != nil {
		t.Fatalf("register: %v (%s)", err, reason(err))
	}
	return entry
}

func (s *suite) unregister(t *testing.T, r registry.Registration, policy registry.DeletionPolicy) {
	t.Helper()
	if err := s.backend.Unregister(t.Context(), r, policy); err != nil {
		t.Fatalf("unregister with %s: %v (%s)", policy, err, reason(err))
	}
}

func reason(err error) registry.Reason {
	if err == nil {
		return ""
	}
	return registry.AsError(err).Reason
}

func wantReason(t *testing.T, err error, want registry.Reason) {
	t.Helper()
	if reason(err) != want {
		t.Fatalf("got %v (%q), want reason %q", err, reason(err), want)
	}
}

// only is the one entry of a model that is there.
func (s *suite) only(t *testing.T, name string) Entry {
	t.Helper()
	entries := s.Server.Entries(t, name)
	if len(entries) != 1 {
		t.Fatalf("%s has %d entries, want 1: %+v", name, len(entries), entries)
	}
	return entries[0]
}

// gone checks that nothing of a deleted registration is left.
func (s *suite) gone(t *testing.T, name string) {
	t.Helper()
	if s.DeleteArchives {
		if entry := s.only(t, name); !entry.Archived || len(entry.Servings) > 0 {
			t.Fatalf("the entry is not archived: %+v", entry)
		}
		return
	}
	if dump := s.Server.Dump(t, name); dump != "" {
		t.Fatalf("this is left of %s:\n%s", name, dump)
	}
}

// untouched runs something that may not change what the registry has under a name.
func (s *suite) untouched(t *testing.T, name string, run func()) {
	t.Helper()
	before := s.Server.Dump(t, name)
	run()
	if after := s.Server.Dump(t, name); after != before {
		t.Fatalf("the registry changed.\nBefore:\n%s\nAfter:\n%s", before, after)
	}
}

// quiet runs something that may not write.
func (s *suite) quiet(t *testing.T, name string, run func()) {
	t.Helper()
	s.untouched(t, name, func() {
		s.proxy.Disarm()
		run()
		if writes := s.proxy.Writes(); len(writes) > 0 && !s.AlwaysSends {
			t.Fatalf("these were sent without need:\n%s", strings.Join(writes, "\n"))
		}
	})
}

// noTrace runs what ends a registration that is not there: it leaves the registry as it was.
func (s *suite) noTrace(t *testing.T, name string, run func()) {
	t.Helper()
	if s.HidesAbsent {
		s.untouched(t, name, run)
		return
	}
	s.quiet(t, name, run)
}

func wantTags(t *testing.T, entry Entry, want map[string]string, without ...string) {
	t.Helper()
	for name, value := range want {
		if entry.Tags[name] != value {
			t.Errorf("tag %q is %q, want %q", name, entry.Tags[name], value)
		}
	}
	for _, name := range without {
		if value, ok := entry.Tags[name]; ok {
			t.Errorf("tag %q is still there: %q", name, value)
		}
	}
}

func wantServings(t *testing.T, entry Entry, want ...string) {
	t.Helper()
	got := slices.Clone(entry.Servings)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("served at %q, want %q", got, want)
	}
}
