package conformance

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// undated leaves out what registries count and date by themselves.
func undated(dump string) string { return dates.ReplaceAllString(dump, "") }

var dates = regexp.MustCompile(`"(changes|[a-zA-Z_]*([tT]ime|[tT]imestamp)[a-zA-Z_]*)": ?("[^"]*"|\d+),?`)

// mistake is a fault, and the reason that a call which it strikes has to fail with.
type mistake struct {
	Fault
	want       registry.Reason
	retryAfter time.Duration
}

// next is the number of the request to strike after this one. An operator that ends, which a cut after the registry acted is like,
// may end at any request; the other faults are tried at some, further and further on.
func (m mistake) next(coarse bool) int {
	switch {
	case coarse && m.Way == CutAfter:
		return m.At + m.At/3 + 1
	case coarse:
		return 4 * m.At
	}
	if m.Way == CutAfter || m.At < 3 {
		return m.At + 1
	}
	return m.At + m.At/2 + 1
}

func mistakes() []mistake {
	list := []mistake{
		{Fault: Fault{Way: CutBefore}, want: registry.Unreachable},
		{Fault: Fault{Way: CutBefore, Once: true}, want: registry.Unreachable},
		{Fault: Fault{Way: CutAfter, Once: true}, want: registry.Unreachable},
		{Fault: Fault{Way: Slow}, want: registry.Unreachable},
	}
	for status, want := range map[int]registry.Reason{
		http.StatusUnauthorized: registry.Unauthorized, http.StatusForbidden: registry.Unauthorized,
		http.StatusNotFound: registry.Unreachable, http.StatusConflict: registry.Conflict,
		http.StatusInternalServerError: registry.Unreachable,
	} {
		list = append(list, mistake{Fault: Fault{Way: Status, Status: status}, want: want})
	}
	return append(list, mistake{
		Fault: Fault{Way: Status, Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"7"}}},
		want:  registry.RateLimited, retryAfter: 7 * time.Second,
	})
}

// operation is one call, from a state that prepare makes, with what has to hold once it succeeded.
type operation struct {
	name    string
	prepare func(*testing.T, registry.Registration)
	call    func(context.Context, registry.Backend, registry.Registration) error
	check   func(*testing.T, registry.Registration)
}

func (s *suite) operations() []operation {
	register := func(ctx context.Context, b registry.Backend, r registry.Registration) error {
		_, err := b.Register(ctx, r)
		return err
	}
	registered := func(t *testing.T, r registry.Registration) {
		found := s.only(t, r.Name)
		if marked := registry.ReadMarks(found.Tags); marked.Owner != r.Owner || !marked.Created || found.Archived {
			t.Fatalf("the registry has %+v", found)
		}
		wantTags(t, found, r.Tags, "old")
		if !s.ListsNoServings {
			wantServings(t, found, r.Servings[0].URL)
		}
		s.unregister(t, r, registry.Delete)
		s.gone(t, r.Name)
	}
	found := &sync.Map{} // what was there by hand, by name
	adopted := func(t *testing.T, r registry.Registration) {
		s.Server.Add(t, r.Name, r.Version, map[string]string{"theirs": "kept"})
		found.Store(r.Name, s.Server.Dump(t, r.Name))
	}
	asFound := func(t *testing.T, r registry.Registration) {
		before, _ := found.Load(r.Name)
		if after := s.Server.Dump(t, r.Name); undated(after) != undated(before.(string)) {
			t.Fatalf("before it was adopted it was\n%s\nand afterwards\n%s", before, after)
		}
	}
	there := func(t *testing.T, r registry.Registration) { s.register(t, r) }
	return []operation{
		{"first registration", func(*testing.T, registry.Registration) {}, register, registered},
		{"change", func(t *testing.T, r registry.Registration) {
			before := with(r, func(r *registry.Registration) { r.Owner.UID = "uid-0" })
			before.Tags, before.Servings = map[string]string{"old": "x", "team": "old"}, nil
			s.register(t, before)
			s.unregister(t, before, registry.Archive)
		}, register, registered},
		{"deletion", there, func(ctx context.Context, b registry.Backend, r registry.Registration) error {
			return b.Unregister(ctx, r, registry.Delete)
		}, func(t *testing.T, r registry.Registration) { s.gone(t, r.Name) }},
		{"archival", there, func(ctx context.Context, b registry.Backend, r registry.Registration) error {
			return b.Unregister(ctx, r, registry.Archive)
		}, func(t *testing.T, r registry.Registration) {
			if found := s.only(t, r.Name); !found.Archived {
				t.Fatalf("the registry has %+v", found)
			}
		}},
		{"adoption", adopted, register, func(t *testing.T, r registry.Registration) {
			if marked := registry.ReadMarks(s.only(t, r.Name).Tags); marked.Owner != r.Owner || marked.Created {
				t.Fatalf("the registry has %+v", marked)
			}
			s.unregister(t, r, registry.Delete)
			asFound(t, r)
		}},
		{"end of an adoption", func(t *testing.T, r registry.Registration) {
			adopted(t, r)
			s.register(t, r)
		}, func(ctx context.Context, b registry.Backend, r registry.Registration) error {
			return b.Unregister(ctx, r, registry.Delete)
		}, asFound},
	}
}

// faults lets each request of each operation go wrong in each way.
func (s *suite) faults(t *testing.T) {
	foreign := s.registration(otherCluster)
	s.register(t, foreign)
	byHand := s.name()
	s.Server.Add(t, byHand, s.ByHand, map[string]string{"theirs": "kept"})
	t.Run("in", func(t *testing.T) { // ends when all of them have
		for i := range s.operations() {
			beside := s.beside(t)
			op := beside.operations()[i]
			t.Run(op.name, func(t *testing.T) {
				if !s.OneAtATime {
					t.Parallel()
				}
				beside.strikeAll(t, op)
			})
		}
	})
	if entries := s.Server.Entries(t, byHand); len(entries) != 1 || registry.ReadMarks(entries[0].Tags).Owned {
		t.Errorf("the entry of nobody is %+v", entries)
	}
	s.quiet(t, foreign.Name, func() { s.register(t, foreign) })
}

// strikeAll lets each request of an operation go wrong in each way.
func (s *suite) strikeAll(t *testing.T, op operation) {
	t.Helper()
	for _, wrong := range mistakes() {
		if s.CutsOnly && wrong.Way != CutAfter {
			continue
		}
		struck := 0
		for wrong.At = 1; s.strike(t, op, wrong); wrong.At = wrong.next(s.Coarse) {
			struck++
		}
		if struck == 0 {
			t.Errorf("%s: it struck nothing", wrong.Fault)
		}
		if t.Failed() {
			return
		}
	}
}

// beside is the same suite with a proxy of its own.
func (s *suite) beside(t *testing.T) *suite {
	t.Helper()
	beside := *s
	beside.proxy = NewProxy(t, s.address)
	beside.Config.URL = beside.proxy.URL
	beside.backend, beside.hasty = beside.make(t, requestTimeout), beside.make(t, slowTimeout)
	return &beside
}

// strike runs an operation with a fault, and again without. It returns false when the operation ended before the fault.
func (s *suite) strike(t *testing.T, op operation, wrong mistake) bool {
	t.Helper()
	r := s.registration(s.byHand, adopting(registry.AdoptIfUnowned))
	r.Servings = []registry.Serving{{Kind: "AIModel", Namespace: "team-a", Name: "llama", URL: "http://llama.team-a/v1", Ready: true}}
	op.prepare(t, r)
	s.proxy.Arm(wrong.Fault)
	backend := s.backend
	if wrong.Way == Slow {
		backend = s.hasty
	}
	err := op.call(t.Context(), backend, r)
	struck := s.proxy.Disarm()
	if !struck {
		if err != nil && wrong.Way != Slow { // where the machine is slow, a hasty call may fail by itself
			t.Fatalf("%s, which struck nothing: %v", wrong.Fault, err)
		}
	} else {
		s.judge(t, op, wrong, err)
	}
	if t.Failed() {
		return false
	}
	for try := 1; err != nil; try++ {
		if err = op.call(t.Context(), s.backend, r); err != nil && try == 3 {
			t.Fatalf("after %s: %v (%s)", wrong.Fault, err, reason(err))
		}
	}
	op.check(t, r)
	if t.Failed() {
		t.Fatalf("after %s of the %s", wrong.Fault, op.name)
	}
	return struck
}

// judge looks at the error of a call that a fault struck.
func (s *suite) judge(t *testing.T, op operation, wrong mistake, err error) {
	t.Helper()
	if err == nil {
		// One lost connection may be made up for; all of them may not.
		if !wrong.Once {
			t.Fatalf("%s: the %s says that it succeeded", wrong.Fault, op.name)
		}
		return
	}
	told := registry.AsError(err)
	if told.Reason != wrong.want || told.RetryAfter != wrong.retryAfter {
		t.Fatalf("%s of the %s: %v (%s, retry after %s), want %s", wrong.Fault, op.name, err, told.Reason, told.RetryAfter, wrong.want)
	}
	s.tellsNothing(t, err)
}

// tellsNothing checks that an error holds no secret, in any form.
func (s *suite) tellsNothing(t *testing.T, err error) {
	t.Helper()
	auth := s.Config.Auth
	text := fmt.Sprintf("%v %+v %#v", err, err, registry.AsError(err).Err)
	request := &http.Request{Header: http.Header{}}
	auth.Apply(request)
	_, encoded, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	for _, secret := range []string{auth.Token, auth.Password, string(auth.SigningKey), encoded} {
		if secret != "" && strings.Contains(text, secret) {
			t.Fatalf("the error tells the secret %q: %s", secret, text)
		}
	}
}

func (s *suite) checks(t *testing.T) {
	s.quiet(t, s.prefix, func() {
		if err := s.backend.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	for _, wrong := range mistakes() {
		if wrong.Once || wrong.Status == http.StatusConflict {
			continue
		}
		wrong.At = 1
		s.proxy.Arm(wrong.Fault)
		backend := s.backend
		if wrong.Way == Slow {
			backend = s.hasty
		}
		err := backend.Check(t.Context())
		s.proxy.Disarm()
		if reason(err) != wrong.want {
			t.Errorf("%s: %v (%s), want %s", wrong.Fault, err, reason(err), wrong.want)
		}
		s.tellsNothing(t, err)
	}
	closed := *s
	closed.Config.URL = "http://127.0.0.1:1"
	wantReason(t, closed.make(t, requestTimeout).Check(t.Context()), registry.Unreachable)
}

func (s *suite) wrongCredentials(t *testing.T) {
	wrong := *s
	switch auth := &wrong.Config.Auth; {
	case auth.Token != "":
		auth.Token = "a-wrong-token-of-the-test"
	case auth.Password != "":
		auth.Password = "a-wrong-password-of-the-test"
	case len(auth.SigningKey) > 0:
		auth.SigningKey = []byte("a wrong key of the test")
	default:
		t.Skip("this registry asks for no credentials")
	}
	backend := wrong.make(t, requestTimeout)
	r := s.registration()
	s.register(t, r)
	s.untouched(t, r.Name, func() {
		_, err := backend.Register(t.Context(), with(r, func(r *registry.Registration) { r.Description = "changed" }))
		for _, err := range []error{err, backend.Check(t.Context()), backend.Unregister(t.Context(), r, registry.Delete)} {
			wantReason(t, err, registry.Unauthorized)
			wrong.tellsNothing(t, err)
		}
	})
}
