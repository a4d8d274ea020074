package apply

// covers says whether a live value still has everything that was rendered. What the API server defaulted and
// what others added does not matter; what others changed or removed does.
//
// It need not see fields that were rendered once and are not now: the digest tells of those.
func covers(live, rendered any) bool {
	switch want := rendered.(type) {
	case map[string]any:
		have, ok := live.(map[string]any)
		// An empty rendered object, such as `resources: {}`, may be stored as nothing.
		return (ok && coversMap(have, want)) || (live == nil && len(want) == 0)
	case []any:
		have, ok := live.([]any)
		return (ok && coversList(have, want)) || (live == nil && len(want) == 0)
	default:
		return live == rendered
	}
}

func coversMap(live, rendered map[string]any) bool {
	for key, want := range rendered {
		if !covers(live[key], want) {
			return false
		}
	}
	return true
}

// coversList compares lists as server-side apply would merge them: lists of objects with a key by that key, in which
// others may have put entries of their own, and every other list as a whole.
func coversList(live, rendered []any) bool {
	if key := mergeKey(rendered); key != nil {
		return coversKeyed(live, rendered, key)
	}
	if len(live) != len(rendered) {
		return false
	}
	for i := range rendered {
		if !covers(live[i], rendered[i]) {
			return false
		}
	}
	return true
}

func coversKeyed(live, rendered []any, key []string) bool {
	for _, want := range rendered {
		wanted, _ := want.(map[string]any)
		found := false
		for _, have := range live {
			entry, ok := have.(map[string]any)
			if ok && sameKey(entry, wanted, key) {
				found = covers(entry, wanted)
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// mergeKeys are the keys of the list types in the kinds that charts render. A list is taken to have the first key
// that all its rendered entries carry.
var mergeKeys = [][]string{{"containerPort"}, {"port", "name"}, {"mountPath"}, {"uid"}, {"topologyKey", "whenUnsatisfiable"}, {"name"}}

func mergeKey(entries []any) []string {
	for _, key := range mergeKeys {
		if allHave(entries, key) {
			return key
		}
	}
	return nil
}

func allHave(entries []any, key []string) bool {
	for _, entry := range entries {
		fields, ok := entry.(map[string]any)
		if !ok {
			return false
		}
		for _, field := range key {
			if _, ok := fields[field]; !ok {
				return false
			}
		}
	}
	return len(entries) > 0
}

func sameKey(live, rendered map[string]any, key []string) bool {
	for _, field := range key {
		if live[field] != rendered[field] {
			return false
		}
	}
	return true
}
