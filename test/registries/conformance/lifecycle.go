package conformance

import (
	"errors"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

func (s *suite) registersOnce(t *testing.T) {
	r := s.registration()
	entry := s.register(t, r)
	if !entry.Created || entry.Adopted || entry.Name != r.Name || entry.ID == "" || entry.Version == "" {
		t.Errorf("the entry says %+v", entry)
	}
	found := s.only(t, r.Name)
	marked := registry.ReadMarks(found.Tags)
	if found.Version != r.Version || marked.Owner != r.Owner || marked.Key != r.Key || !marked.Created || found.Archived {
		t.Errorf("the registry has %+v with marks %+v", found, marked)
	}
	wantTags(t, found, r.Tags)
	for _, known := range []*registry.Entry{nil, &entry} {
		again := with(r, func(r *registry.Registration) { r.Known = known })
		s.quiet(t, r.Name, func() {
			if repeated := s.register(t, again); repeated != entry {
				t.Errorf("the second time the entry is %+v, and was %+v", repeated, entry)
			}
		})
	}
}

func (s *suite) keepsTags(t *testing.T) {
	r := s.registration(adopting(registry.AdoptIfUnowned), s.byHand)
	s.Server.Add(t, r.Name, r.Version, map[string]string{"theirs": "kept"})
	s.register(t, r)
	wantTags(t, s.only(t, r.Name), map[string]string{"theirs": "kept", "team": "search", "stage": "beta"})

	r.Tags = map[string]string{"team": "ads", "new": "x"}
	s.register(t, r)
	wantTags(t, s.only(t, r.Name), map[string]string{"theirs": "kept", "team": "ads", "new": "x"}, "stage")

	r.Tags = nil
	s.register(t, r)
	wantTags(t, s.only(t, r.Name), map[string]string{"theirs": "kept"}, "team", "new")
	s.quiet(t, r.Name, func() { s.register(t, r) })
}

func (s *suite) tellsServings(t *testing.T) {
	if s.ListsNoServings {
		t.Skip("this registry has no place for it")
	}
	const first, second = "http://llama.team-a.svc.cluster.local:80/v1", "http://llama-b.team-a.svc.cluster.local:80/v1"
	r := s.registration()
	r.Servings = []registry.Serving{
		{Kind: "InferenceService", Namespace: "team-a", Name: "llama", URL: first, Runtime: "vllm", Ready: true},
		{Kind: "InferenceService", Namespace: "team-a", Name: "llama-b", URL: second, Runtime: "vllm"},
	}
	s.register(t, r)
	wantServings(t, s.only(t, r.Name), second, first)
	s.quiet(t, r.Name, func() { s.register(t, r) })

	r.Servings = r.Servings[:1]
	r.Servings[0].Ready = false
	s.register(t, r)
	wantServings(t, s.only(t, r.Name), first)
	s.quiet(t, r.Name, func() { s.register(t, r) })

	r.Servings = nil
	s.register(t, r)
	wantServings(t, s.only(t, r.Name))

	r.Servings = []registry.Serving{{Kind: "AIModel", Namespace: "team-a", Name: "llama", URL: first, Ready: true}}
	s.register(t, r)
	wantServings(t, s.only(t, r.Name), first)
	s.unregister(t, r, registry.Delete)
	s.gone(t, r.Name)
}

func (s *suite) takesBack(t *testing.T) {
	for _, archived := range []bool{false, true} {
		r := s.registration()
		first := s.register(t, r)
		if archived {
			s.unregister(t, r, registry.Archive)
		}
		again := with(r, sameAgain)
		entry := s.register(t, again)
		found := s.only(t, r.Name)
		if found.Archived || registry.ReadMarks(found.Tags).Owner.UID != "uid-later" || !entry.Created || entry.Name != first.Name {
			t.Errorf("archived before: %v: the entry is %+v, in the registry %+v", archived, entry, found)
		}
		s.quiet(t, r.Name, func() { s.register(t, again) })
		s.unregister(t, again, registry.Delete)
		s.gone(t, r.Name)
	}
}

func (s *suite) keepsVersionsApart(t *testing.T) {
	first := s.registration()
	second := with(first, func(r *registry.Registration) { r.Version, r.Owner.Name = "2.0", "llama-2" })
	third := with(first, otherCluster, func(r *registry.Registration) { r.Version = "3.0" })
	for _, r := range []registry.Registration{first, second, third} {
		s.register(t, r)
	}
	if entries := s.Server.Entries(t, first.Name); len(entries) != 3 {
		t.Fatalf("there are %d entries, want 3: %+v", len(entries), entries)
	}
	if s.DeleteArchives {
		return
	}
	// The one that made what encloses them goes first.
	for left, r := range map[int]registry.Registration{2: first} {
		s.unregister(t, r, registry.Delete)
		if entries := s.Server.Entries(t, r.Name); len(entries) != left {
			t.Fatalf("there are %d entries, want %d: %+v", len(entries), left, entries)
		}
	}
	s.unregister(t, second, registry.Delete)
	if left := s.only(t, third.Name); left.Version != "3.0" {
		t.Fatalf("left is %+v", left)
	}
	s.unregister(t, third, registry.Delete)
	s.gone(t, first.Name)
}

func (s *suite) leavesOthers(t *testing.T) {
	theirs := s.registration()
	s.register(t, theirs)
	for name, change := range map[string]func(*registry.Registration){
		"another cluster":   otherCluster,
		"another namespace": func(r *registry.Registration) { r.Owner.Namespace = "team-b" },
		"another name":      func(r *registry.Registration) { r.Owner.Name = "other" },
	} {
		for _, policy := range []registry.AdoptionPolicy{registry.AdoptNever, registry.AdoptIfUnowned} {
			ours := with(theirs, change, adopting(policy))
			s.quiet(t, theirs.Name, func() {
				_, err := s.backend.Register(t.Context(), ours)
				if reason(err) != registry.Conflict {
					t.Errorf("%s, %s: %v, want a conflict", name, policy, err)
				}
			})
		}
		for _, policy := range []registry.DeletionPolicy{registry.Delete, registry.Archive, registry.Orphan} {
			s.quiet(t, theirs.Name, func() { s.unregister(t, with(theirs, change), policy) })
		}
	}
}

func (s *suite) adopts(t *testing.T) {
	r := s.registration(s.byHand)
	s.Server.Add(t, r.Name, r.Version, map[string]string{"theirs": "kept"})
	before := s.Server.Dump(t, r.Name)
	s.quiet(t, r.Name, func() {
		_, err := s.backend.Register(t.Context(), r)
		wantReason(t, err, registry.AdoptionRequired)
		s.unregister(t, r, registry.Delete) // nothing is ours
	})
	for _, policy := range []registry.AdoptionPolicy{registry.AdoptIfUnowned, registry.AdoptAlways} {
		ours := with(r, adopting(policy))
		if entry := s.register(t, ours); entry.Created || !entry.Adopted {
			t.Errorf("%s: the entry is %+v", policy, entry)
		}
		s.quiet(t, r.Name, func() {
			// The policy of today does not give away what was adopted.
			if entry := s.register(t, r); entry.Created || !entry.Adopted {
				t.Errorf("%s: the entry is %+v", policy, entry)
			}
		})
		s.unregister(t, ours, registry.Delete)
		if after := s.Server.Dump(t, r.Name); undated(after) != undated(before) {
			t.Errorf("%s: before it was adopted it was\n%s\nand after it was deleted\n%s", policy, before, after)
		}
		s.quiet(t, r.Name, func() { s.unregister(t, ours, registry.Delete) })
	}
}

func (s *suite) takesOver(t *testing.T) {
	theirs := s.registration()
	known := s.register(t, theirs)
	ours := with(theirs, otherCluster, adopting(registry.AdoptAlways))
	if entry := s.register(t, ours); entry.Created || !entry.Adopted {
		t.Errorf("the entry is %+v", entry)
	}
	if marked := registry.ReadMarks(s.only(t, ours.Name).Tags); marked.Owner != ours.Owner {
		t.Errorf("the owner is %+v", marked.Owner)
	}
	s.quiet(t, ours.Name, func() {
		lost := with(theirs, adopting(registry.AdoptAlways), func(r *registry.Registration) { r.Known = &known })
		_, err := s.backend.Register(t.Context(), lost)
		wantReason(t, err, registry.Conflict)
		s.unregister(t, lost, registry.Delete)
	})
	// What was taken over is not deleted.
	s.unregister(t, ours, registry.Delete)
	if left := s.only(t, ours.Name); registry.ReadMarks(left.Tags).Owned {
		t.Errorf("left is %+v", left)
	}
}

func (s *suite) endsByPolicy(t *testing.T) {
	never := s.registration()
	s.noTrace(t, never.Name, func() { s.unregister(t, never, registry.Delete) })

	deleted := s.registration()
	s.register(t, deleted)
	s.unregister(t, deleted, registry.Delete)
	s.gone(t, deleted.Name)
	s.noTrace(t, deleted.Name, func() { s.unregister(t, deleted, registry.Delete) })

	archived := s.registration()
	s.register(t, archived)
	s.unregister(t, archived, registry.Archive)
	if entry := s.only(t, archived.Name); !entry.Archived || registry.ReadMarks(entry.Tags).Owner != archived.Owner {
		t.Errorf("the archived entry is %+v", entry)
	}
	s.quiet(t, archived.Name, func() { s.unregister(t, archived, registry.Archive) })
	s.unregister(t, archived, registry.Delete)
	s.gone(t, archived.Name)

	orphaned := s.registration()
	s.register(t, orphaned)
	s.unregister(t, orphaned, registry.Orphan)
	if entry := s.only(t, orphaned.Name); registry.ReadMarks(entry.Tags).Owned {
		t.Errorf("the orphan still has an owner: %+v", entry)
	}
	s.quiet(t, orphaned.Name, func() {
		s.unregister(t, orphaned, registry.Orphan)
		_, err := s.backend.Register(t.Context(), orphaned)
		wantReason(t, err, registry.AdoptionRequired)
	})
}

func (s *suite) otherIncarnation(t *testing.T) {
	r := s.registration()
	s.register(t, r)
	for _, policy := range []registry.DeletionPolicy{registry.Delete, registry.Archive, registry.Orphan} {
		s.quiet(t, r.Name, func() {
			err := s.backend.Unregister(t.Context(), with(r, sameAgain), policy)
			wantReason(t, err, registry.OtherIncarnation)
			var told *registry.Error
			if !errors.As(err, &told) || told.FoundUID != r.Owner.UID {
				t.Errorf("it was told of %+v", told)
			}
		})
	}
}
