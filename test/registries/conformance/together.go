package conformance

import (
	"context"
	"sync"
	"testing"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// atOnce runs something n times at once and returns the errors.
func atOnce(n int, run func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = run(i) })
	}
	all.Wait()
	return errs
}

// concurrent is what happens when an operator takes over from one that does not know yet that it has to stop.
func (s *suite) concurrent(t *testing.T) {
	r := s.registration()
	errs := atOnce(6, func(int) error {
		_, err := s.backend.Register(t.Context(), r)
		return err
	})
	for _, err := range errs {
		if err != nil && !registry.AsError(err).Passes() {
			t.Errorf("one of them got %v", err)
		}
	}
	s.register(t, r)
	if marked := registry.ReadMarks(s.only(t, r.Name).Tags); marked.Owner != r.Owner {
		t.Errorf("the owner is %+v", marked.Owner)
	}
	for _, err := range atOnce(4, func(int) error { return s.backend.Unregister(t.Context(), r, registry.Delete) }) {
		if err != nil && !registry.AsError(err).Passes() {
			t.Errorf("one of them got %v", err)
		}
	}
	s.unregister(t, r, registry.Delete)
	s.gone(t, r.Name)
}

func (s *suite) contended(t *testing.T) {
	r := s.registration()
	claims := []registry.Registration{r, with(r, otherCluster), with(r, func(r *registry.Registration) { r.Owner.Namespace = "team-b" })}
	atOnce(len(claims), func(i int) error {
		_, err := s.backend.Register(t.Context(), claims[i])
		return err
	})
	winner := registry.ReadMarks(s.only(t, r.Name).Tags).Owner
	for _, claim := range claims {
		_, err := s.backend.Register(t.Context(), claim)
		if claim.Owner == winner {
			wantReason(t, err, "")
		} else {
			wantReason(t, err, registry.Conflict)
		}
	}
	for _, claim := range claims {
		s.unregister(t, claim, registry.Delete)
	}
	s.gone(t, r.Name)
}

func (s *suite) many(t *testing.T) {
	const workers = 8
	bystander := s.registration()
	s.register(t, bystander)
	before := s.Server.Dump(t, s.prefix)
	many := make([]registry.Registration, s.Many)
	for i := range many {
		many[i] = s.registration()
	}
	each := func(run func(registry.Registration) error) {
		t.Helper()
		next := make(chan registry.Registration)
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for r := range next {
					if err := run(r); err != nil {
						t.Errorf("%s: %v", r.Name, err)
					}
				}
			})
		}
		for _, r := range many {
			next <- r
		}
		close(next)
		all.Wait()
	}
	each(func(r registry.Registration) error {
		_, err := s.backend.Register(context.WithoutCancel(t.Context()), r)
		return err
	})
	for _, r := range many {
		s.only(t, r.Name)
	}
	each(func(r registry.Registration) error { return s.backend.Unregister(t.Context(), r, registry.Delete) })
	if s.DeleteArchives {
		for _, r := range many {
			s.gone(t, r.Name)
		}
		return
	}
	if after := s.Server.Dump(t, s.prefix); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}
