package apply

// coversMap says whether a live object still has everything that was rendered. What the API server defaulted and what
// others added does not matter; what others changed or removed does.
//
// It need not see fields that were rendered once and are not now: the digest tells of those.
func coversMap(live, rendered map[string]any) bool {
	for field, want := range rendered {
		if !covers(field, live[field], want) {
			return false
		}
	}
	return true
}

// covers compares the values of one field. Entries of a list have no field.
func covers(field string, live, rendered any) bool {
	switch want := rendered.(type) {
	case map[string]any:
		have, ok := live.(map[string]any)
		// An empty rendered object, such as `resources: {}`, may be stored as nothing.
		return (ok && coversMap(have, want)) || (live == nil && len(want) == 0)
	case []any:
		have, ok := live.([]any)
		return (ok && coversList(field, have, want)) || (live == nil && len(want) == 0)
	default:
		return live == rendered
	}
}

// coversList compares lists as server-side apply would merge them: lists of objects with a key by that key, in which
// others may have put entries of their own, and every other list as a whole.
func coversList(field string, live, rendered []any) bool {
	if key := mergeKey(field, rendered); key != nil {
		return coversKeyed(live, rendered, key)
	}
	if len(live) != len(rendered) {
		return false
	}
	for i := range rendered {
		if !covers("", live[i], rendered[i]) {
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
			if ok && sameKey(entry, wanted, key) && covers("", entry, wanted) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// mergeKeys are the keys of the lists that server-side apply merges, in the kinds that the operator applies. A list is taken to
// have the first key that all its rendered entries carry.
var mergeKeys = map[string][][]string{
	"containers":                {{"name"}},
	"env":                       {{"name"}},
	"groups":                    {{"name"}},
	"hostAliases":               {{"ip"}},
	"imagePullSecrets":          {{"name"}},
	"initContainers":            {{"name"}},
	"ownerReferences":           {{"uid"}},
	"ports":                     {{"containerPort", protocol}, {"port", protocol}},
	"topologySpreadConstraints": {{"topologyKey", "whenUnsatisfiable"}},
	"volumeDevices":             {{"devicePath"}},
	"volumeMounts":              {{"mountPath"}},
	"volumes":                   {{"name"}},
}

// protocol is the one field of a key that an entry may leave out.
const protocol = "protocol"

func mergeKey(field string, entries []any) []string {
	for _, key := range mergeKeys[field] {
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
			switch keyPart(fields, field).(type) {
			case nil, map[string]any, []any:
				return false
			}
		}
	}
	return len(entries) > 0
}

func sameKey(live, rendered map[string]any, key []string) bool {
	for _, field := range key {
		if keyPart(live, field) != keyPart(rendered, field) {
			return false
		}
	}
	return true
}

func keyPart(entry map[string]any, field string) any {
	if value, ok := entry[field]; ok || field != protocol {
		return value
	}
	return "TCP"
}
