package desired

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// owned cuts a live object down to what the operator answers for: the fields that it would apply, and those that the API
// server has recorded as its own. What others added, and what the API server defaulted, is left out.
func owned(live *unstructured.Unstructured, want map[string]any) map[string]any {
	fields := fieldpath.NewSet()
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != aiv1.ManagedBy || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err == nil {
			fields = fields.Union(set)
		}
	}
	content := live.DeepCopy().Object
	delete(content, "status")
	cut := cutMap(content, want, fields)
	for _, name := range []string{"apiVersion", "kind"} {
		cut[name] = content[name]
	}
	metadata, _ := cut["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		cut["metadata"] = metadata
	}
	metadata["name"], metadata["namespace"] = live.GetName(), live.GetNamespace()
	unstructured.RemoveNestedField(cut, "metadata", "annotations", aiv1.AnnotationApplied)
	return cut
}

// cutAny keeps of a live value what is wanted or owned. Without either below it, all of it is owned.
func cutAny(live, want any, fields *fieldpath.Set) any {
	if want == nil && fields.Empty() {
		return live
	}
	switch v := live.(type) {
	case map[string]any:
		wanted, _ := want.(map[string]any)
		return cutMap(v, wanted, fields)
	case []any:
		wanted, _ := want.([]any)
		return cutList(v, wanted, fields)
	}
	return live
}

func cutMap(live, want map[string]any, fields *fieldpath.Set) map[string]any {
	out := map[string]any{}
	for name, inner := range live {
		element := fieldpath.PathElement{FieldName: &name}
		below := fields.WithPrefix(element)
		wanted, isWanted := want[name]
		isOwned := fields.Members.Has(element) || !below.Empty()
		if !isWanted && (!isOwned || isDefault(name, inner)) {
			continue
		}
		if !isWanted {
			wanted = nil
		}
		out[name] = cutAny(inner, wanted, below)
	}
	return out
}

// cutList keeps of a list with keys the entries that are wanted or owned, and any other list whole.
func cutList(live, want []any, fields *fieldpath.Set) []any {
	keys := entryKeys(fields)
	out := make([]any, 0, len(live))
	for i, entry := range live {
		if len(keys) == 0 {
			if len(live) == len(want) {
				entry = cutAny(entry, want[i], fieldpath.NewSet())
			}
			out = append(out, entry)
			continue
		}
		below, isOwned := fieldpath.NewSet(), false
		for _, key := range keys {
			if hasKey(entry, key) {
				below, isOwned = fields.WithPrefix(key), true
			}
		}
		wanted := counterpart(entry, want, keys[0])
		if isOwned || wanted != nil {
			out = append(out, cutAny(entry, wanted, below))
		}
	}
	return out
}

// entryKeys are the keys of the entries of a list that the operator owns. None for a list that is owned as a whole.
func entryKeys(fields *fieldpath.Set) []fieldpath.PathElement {
	var keys []fieldpath.PathElement
	seen := fieldpath.MakePathElementSet(0)
	add := func(element fieldpath.PathElement) {
		if element.Key != nil && !seen.Has(element) {
			seen.Insert(element)
			keys = append(keys, element)
		}
	}
	fields.Members.Iterate(add)
	fields.Children.Iterate(add)
	return keys
}

func hasKey(entry any, element fieldpath.PathElement) bool {
	fields, ok := entry.(map[string]any)
	if !ok {
		return false
	}
	for _, key := range *element.Key {
		if !sameScalar(keyPart(fields, key.Name), key.Value.Unstructured()) {
			return false
		}
	}
	return true
}

// counterpart finds the wanted entry that has the keys of a live one.
func counterpart(live any, want []any, element fieldpath.PathElement) any {
	have, ok := live.(map[string]any)
	if !ok {
		return nil
	}
	for _, entry := range want {
		fields, ok := entry.(map[string]any)
		same := ok
		for _, key := range *element.Key {
			same = same && sameScalar(keyPart(fields, key.Name), keyPart(have, key.Name))
		}
		if same {
			return entry
		}
	}
	return nil
}

// keyPart is a field of a key. The protocol of a port is the one that may be left out.
func keyPart(fields map[string]any, name string) any {
	if found, ok := fields[name]; ok || name != "protocol" {
		return found
	}
	return "TCP"
}

func sameScalar(a, b any) bool {
	return value.Equals(value.NewValueInterface(a), value.NewValueInterface(b))
}

// isDefault says whether the API server may have put a field there by itself. It records defaults of a create as the
// creator's own, so that they cannot be told apart by their owner.
func isDefault(name string, live any) bool {
	if name == "serviceAccount" { // the old name of serviceAccountName
		return true
	}
	for _, known := range defaults[name] {
		if reflect.DeepEqual(known, live) {
			return true
		}
	}
	return false
}

// defaults are what the API server puts into the kinds that the charts render.
var defaults = map[string][]any{
	"allocateLoadBalancerNodePorts": {true},
	"apiVersion":                    {"v1"},
	"defaultMode":                   {int64(420)},
	"dnsPolicy":                     {"ClusterFirst"},
	"failureThreshold":              {int64(3)},
	"imagePullPolicy":               {"Always", "IfNotPresent"},
	"internalTrafficPolicy":         {"Cluster"},
	"ipFamilyPolicy":                {"SingleStack"},
	"metrics": {[]any{map[string]any{"type": "Resource", "resource": map[string]any{
		"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": int64(80)}}}}},
	"minReplicas":                   {int64(1)},
	"periodSeconds":                 {int64(10)},
	"progressDeadlineSeconds":       {int64(600)},
	"protocol":                      {"TCP"},
	"replicas":                      {int64(1)},
	"resources":                     {map[string]any{}},
	"restartPolicy":                 {"Always"},
	"revisionHistoryLimit":          {int64(10)},
	"schedulerName":                 {"default-scheduler"},
	"scheme":                        {"HTTP"},
	"securityContext":               {map[string]any{}},
	"sessionAffinity":               {"None"},
	"successThreshold":              {int64(1)},
	"terminationGracePeriodSeconds": {int64(30)},
	"terminationMessagePath":        {"/dev/termination-log"},
	"terminationMessagePolicy":      {"File"},
	"timeoutSeconds":                {int64(1)},
	"type":                          {"ClusterIP", "RollingUpdate"},
}
