package registry

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var owner = Owner{Cluster: "c1", Namespace: "team-a", Name: "llama", UID: "u1"}

func registration(change ...func(*Registration)) Registration {
	r := Registration{Owner: owner, Key: NewKey(owner, "llama", "1"), Name: "llama", Version: "1", Adoption: AdoptNever}
	for _, c := range change {
		c(&r)
	}
	return r
}

func TestKeysTellOwnersNamesAndVersionsApart(t *testing.T) {
	keys := map[string]string{}
	for what, key := range map[string]string{
		"as it is":            NewKey(owner, "llama", "1"),
		"another cluster":     NewKey(Owner{Cluster: "c2", Namespace: "team-a", Name: "llama"}, "llama", "1"),
		"another namespace":   NewKey(Owner{Cluster: "c1", Namespace: "team-b", Name: "llama"}, "llama", "1"),
		"another name":        NewKey(Owner{Cluster: "c1", Namespace: "team-a", Name: "llama2"}, "llama", "1"),
		"another model":       NewKey(owner, "llama2", "1"),
		"another version":     NewKey(owner, "llama", "2"),
		"shifted by a letter": NewKey(owner, "llam", "a1"),
		"with a registry":     NewKey(owner, "llama", "1", "team-a/prod"),
		"with another":        NewKey(owner, "llama", "1", "team-a/new"),
		"the owner alone":     owner.Key(),
	} {
		if other, taken := keys[key]; taken {
			t.Errorf("%s and %s have the key %s", what, other, key)
		}
		keys[key] = what
		if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(key) {
			t.Errorf("key %q of %s is not 32 hexadecimal digits", key, what)
		}
	}
}

func TestAKeyOutlivesTheIncarnationAndTheOperator(t *testing.T) {
	again := owner
	again.UID = "u2"
	if NewKey(again, "llama", "1") != NewKey(owner, "llama", "1") {
		t.Error("another UID has another key")
	}
	// A key that changed with a release would leave every entry of the last one behind.
	if got, want := NewKey(owner, "llama", "1"), "59503cefb9df3011b2a373dc44d8effe"; got != want {
		t.Errorf("key = %s, want %s as ever", got, want)
	}
}

func TestMarksAreReadAsTheyWereWritten(t *testing.T) {
	for _, created := range []bool{true, false} {
		got := ReadMarks(registration().Marks(created))
		want := Marked{Owned: true, Owner: owner, Key: NewKey(owner, "llama", "1"), Created: created}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("created %v: (-want +got)\n%s", created, diff)
		}
	}
	if got := ReadMarks(map[string]string{"team": "a"}); got.Owned {
		t.Error("tags of others are an owner")
	}
	if !ReadMarks(map[string]string{MarkKey: "k", MarkState: StateArchived}).Archived {
		t.Error("an archived entry does not say so")
	}
}

func TestClaim(t *testing.T) {
	ours := ReadMarks(registration().Marks(true))
	again := ours
	again.Owner.UID = "u0"
	foreign := ours
	foreign.Owner.Cluster = "c2"
	var free Marked
	for name, tc := range map[string]struct {
		marked      Marked
		policy      AdoptionPolicy
		known       *Entry
		wantCreated bool
		wantReason  Reason
	}{
		"ours":                               {marked: ours, policy: AdoptNever, wantCreated: true},
		"ours, of an object that is gone":    {marked: again, policy: AdoptNever, wantCreated: true},
		"nobody's, never":                    {marked: free, policy: AdoptNever, wantReason: AdoptionRequired},
		"nobody's, no policy":                {marked: free, wantReason: AdoptionRequired},
		"nobody's, if unowned":               {marked: free, policy: AdoptIfUnowned},
		"nobody's, always":                   {marked: free, policy: AdoptAlways},
		"another's, never":                   {marked: foreign, policy: AdoptNever, wantReason: Conflict},
		"another's, if unowned":              {marked: foreign, policy: AdoptIfUnowned, wantReason: Conflict},
		"another's, always":                  {marked: foreign, policy: AdoptAlways},
		"another's that was ours, always":    {marked: foreign, policy: AdoptAlways, known: &Entry{}, wantReason: Conflict},
		"nobody's that was ours, if unowned": {marked: free, policy: AdoptIfUnowned, known: &Entry{}},
	} {
		t.Run(name, func(t *testing.T) {
			created, err := registration(func(r *Registration) { r.Adoption, r.Known = tc.policy, tc.known }).Claim(tc.marked)
			checkReason(t, err, tc.wantReason)
			if created != tc.wantCreated {
				t.Errorf("created = %v, want %v", created, tc.wantCreated)
			}
		})
	}
}

func TestMayRemove(t *testing.T) {
	ours := ReadMarks(registration().Marks(true))
	again, foreign, otherKey := ours, ours, ours
	again.Owner.UID = "u2"
	foreign.Owner.Namespace = "team-b"
	otherKey.Key = "k"
	for name, tc := range map[string]struct {
		marked     Marked
		want       bool
		wantReason Reason
	}{
		"ours":                   {marked: ours, want: true},
		"of another incarnation": {marked: again, wantReason: OtherIncarnation},
		"another's":              {marked: foreign},
		"ours, another version":  {marked: otherKey},
		"nobody's":               {},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := registration().MayRemove(tc.marked)
			checkReason(t, err, tc.wantReason)
			if got != tc.want {
				t.Errorf("may remove = %v, want %v", got, tc.want)
			}
			if tc.wantReason == OtherIncarnation && AsError(err).FoundUID != "u2" {
				t.Errorf("found UID = %q", AsError(err).FoundUID)
			}
		})
	}
}

func checkReason(t *testing.T, err error, want Reason) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("error = %v", err)
		}
		return
	}
	var typed *Error
	if !errors.As(err, &typed) || typed.Reason != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

func TestTags(t *testing.T) {
	first := registration(func(r *Registration) { r.Tags = map[string]string{"team": "a", "stage": "test"} })
	second := registration(func(r *Registration) { r.Tags = map[string]string{"team": "b"} })
	have := first.Stored(true)
	have["foreign"] = "kept"

	if set, remove := Changes(have, first.Stored(true)); len(set)+len(remove) != 0 {
		t.Errorf("nothing changed, and set %v, remove %v", set, remove)
	}
	set, remove := Changes(have, second.Stored(true))
	if diff := cmp.Diff(map[string]string{"team": "b", MarkManagedTags: "team"}, set); diff != "" {
		t.Errorf("set (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"stage"}, remove); diff != "" {
		t.Errorf("remove (-want +got)\n%s", diff)
	}
	set, remove = Changes(have, registration().Stored(true))
	if diff := cmp.Diff([]string{MarkManagedTags, "stage", "team"}, remove); diff != "" || len(set) != 0 {
		t.Errorf("all tags gone: set %v, remove (-want +got)\n%s", set, diff)
	}
	for _, name := range Ours(have) {
		delete(have, name)
	}
	if diff := cmp.Diff(map[string]string{"foreign": "kept"}, have); diff != "" {
		t.Errorf("what is left without ours (-want +got)\n%s", diff)
	}
}

func TestNothingPrintsASecret(t *testing.T) {
	config := Config{Auth: Auth{Username: "user", Password: "hunter2", Token: "hunter2", SigningKey: []byte("hunter2")}}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if printed := fmt.Sprintf(format, config.Auth); strings.Contains(printed, "hunter2") {
			t.Errorf("%s prints %s", format, printed)
		}
		if printed := fmt.Sprintf(format, config); strings.Contains(printed, "hunter2") {
			t.Errorf("%s of the configuration prints %s", format, printed)
		}
	}
}
