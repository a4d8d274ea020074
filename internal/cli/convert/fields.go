package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fields is a document from which values are taken. What is left at the end has not been carried over.
type fields struct {
	content map[string]any
	notes   []string
}

// note tells of something that the user has to know.
func (f *fields) note(path, format string, args ...any) {
	f.notes = append(f.notes, path+": "+fmt.Sprintf(format, args...))
}

// take removes the value at a path, with dots between the keys, and decodes it. It says whether there was one.
func take[T any](f *fields, path string) (value T, found bool, err error) {
	keys := strings.Split(path, ".")
	raw, found, _ := unstructured.NestedFieldNoCopy(f.content, keys...)
	if !found || raw == nil {
		return value, false, nil
	}
	unstructured.RemoveNestedField(f.content, keys...)
	data, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(data, &value)
	}
	if err != nil {
		return value, false, fmt.Errorf("%s: %w", path, err)
	}
	return value, true, nil
}

// taker takes several values and remembers the first that cannot be read.
type taker struct {
	*fields
	err error
}

func get[T any](t *taker, path string) T {
	value, _, err := take[T](t.fields, path)
	t.err = cmp.Or(t.err, err)
	return value
}

// drop removes values that mean nothing elsewhere.
func (f *fields) drop(paths ...string) {
	for _, path := range paths {
		unstructured.RemoveNestedField(f.content, strings.Split(path, ".")...)
	}
}

// explain adds a note for everything that was left, with the explanation of the longest path that it lies under.
func (f *fields) explain(explanations map[string]string) []string {
	notes := slices.Clone(f.notes)
	// What one explanation is about is told as one.
	for _, path := range slices.SortedFunc(maps.Keys(explanations), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	}) {
		if value, found, _ := unstructured.NestedFieldNoCopy(f.content, strings.Split(path, ".")...); found && !isNothing(value) {
			notes = append(notes, path+": "+explanations[path])
			f.drop(path)
		}
	}
	for _, path := range leaves(f.content, "") {
		notes = append(notes, path+": it has no counterpart")
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

func isNothing(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			if !isNothing(inner) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return value == nil
}

// leaves are the paths of the values below a map. A list is one value.
func leaves(content map[string]any, prefix string) []string {
	var paths []string
	for key, value := range content {
		if isNothing(value) {
			continue
		}
		if below, ok := value.(map[string]any); ok {
			paths = append(paths, leaves(below, prefix+key+".")...)
			continue
		}
		paths = append(paths, prefix+key)
	}
	return paths
}
