package registry

import (
	"maps"
	"slices"
	"strings"
)

// Stored returns all tags that the operator wants in the entry: its marks, the user's tags, and the list of these.
func (r Registration) Stored(created bool) map[string]string {
	tags := r.Marks(created)
	maps.Copy(tags, r.Tags)
	if len(r.Tags) > 0 {
		// Names of tags have no comma.
		tags[MarkManagedTags] = strings.Join(slices.Sorted(maps.Keys(r.Tags)), ",")
	}
	return tags
}

// Changes compares the tags that an entry has with those that it shall have. It returns which to set, and which to remove, sorted: of those
// that are there, only marks and tags that the operator wrote before. Both are empty if all is as wanted.
func Changes(have, want map[string]string) (set map[string]string, remove []string) {
	set = map[string]string{}
	for name, value := range want {
		if old, ok := have[name]; !ok || old != value {
			set[name] = value
		}
	}
	for _, name := range Ours(have) {
		if _, wanted := want[name]; !wanted {
			remove = append(remove, name)
		}
	}
	return set, remove
}

// Ours returns the names of the tags in an entry that the operator wrote, marks included, sorted. To remove them makes the
// entry nobody's.
func Ours(have map[string]string) []string {
	managed := map[string]bool{}
	for _, name := range strings.Split(have[MarkManagedTags], ",") {
		managed[name] = true
	}
	var ours []string
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if strings.HasPrefix(name, MarkPrefix) || managed[name] {
			ours = append(ours, name)
		}
	}
	return ours
}
