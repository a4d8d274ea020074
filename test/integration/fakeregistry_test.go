package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/aimodel-operator/aimodel-operator/internal/connections"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// fakeRegistry is a registry in memory. It is there to inject faults only: what a real one answers is for the tests of the backends.
type fakeRegistry struct {
	mu      sync.Mutex
	entries map[string]*fakeEntry // by name and version
	made    int
	writes  int
	calls   int
	// fault, if it is set, is what every call ends with, before it does anything.
	fault error
	// around, if it is set, is put around every call.
	around func(verb string, call func() error) error
}

type fakeEntry struct {
	id       string
	tags     map[string]string
	servings []registry.Serving
}

func newFakeRegistry() *fakeRegistry { return &fakeRegistry{entries: map[string]*fakeEntry{}} }

func (f *fakeRegistry) factory(connections.Factory) connections.Factory {
	return func(string, registry.Config) (registry.Backend, error) { return f, nil }
}

func (f *fakeRegistry) fail(fault error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *fakeRegistry) Check(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

func (f *fakeRegistry) do(verb string, call func() error) error {
	f.mu.Lock()
	around := f.around
	f.mu.Unlock()
	locked := func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls++
		if f.fault != nil {
			return f.fault
		}
		return call()
	}
	if around != nil {
		return around(verb, locked)
	}
	return locked()
}

func (f *fakeRegistry) Register(_ context.Context, r registry.Registration) (entry registry.Entry, err error) {
	err = f.do("register", func() error {
		name := r.Name + ":" + r.Version
		found := f.entries[name]
		created := true
		if found == nil {
			f.made++
			f.writes++
			found = &fakeEntry{id: fmt.Sprint(f.made), tags: r.Stored(true), servings: r.Servings}
			f.entries[name] = found
		} else {
			var err error
			if created, err = r.Claim(registry.ReadMarks(found.tags)); err != nil {
				return err
			}
			set, remove := registry.Changes(found.tags, r.Stored(created))
			if len(set)+len(remove) > 0 || !slices.Equal(found.servings, r.Servings) {
				f.writes++
			}
			maps.Copy(found.tags, set)
			for _, tag := range remove {
				delete(found.tags, tag)
			}
			found.servings = r.Servings
		}
		entry = registry.Entry{Name: r.Name, ID: found.id, Version: r.Version, Created: created, Adopted: !created}
		return nil
	})
	return entry, err
}

func (f *fakeRegistry) Unregister(_ context.Context, r registry.Registration, policy registry.DeletionPolicy) error {
	return f.do("unregister", func() error {
		name := r.Name + ":" + r.Version
		found := f.entries[name]
		if found == nil {
			return nil
		}
		marked := registry.ReadMarks(found.tags)
		if ours, err := r.MayRemove(marked); err != nil || !ours {
			return err
		}
		f.writes++
		switch {
		case policy == registry.Archive:
			found.tags[registry.MarkState] = registry.StateArchived
		case policy == registry.Delete && marked.Created:
			delete(f.entries, name)
		default:
			for _, tag := range registry.Ours(found.tags) {
				delete(found.tags, tag)
			}
		}
		return nil
	})
}

// names lists the entries, sorted.
func (f *fakeRegistry) names() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.entries))
}

// entry copies an entry; nil if it is not there.
func (f *fakeRegistry) entry(name string) *fakeEntry {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.entries[name]
	if found == nil {
		return nil
	}
	return &fakeEntry{id: found.id, tags: maps.Clone(found.tags), servings: slices.Clone(found.servings)}
}

// put stores an entry that somebody else made.
func (f *fakeRegistry) put(name string, tags map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries[name] = &fakeEntry{id: "foreign", tags: tags}
}

// counts says how many entries were made, how often something was written, and how often it was called.
func (f *fakeRegistry) counts() (made, writes, calls int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made, f.writes, f.calls
}
