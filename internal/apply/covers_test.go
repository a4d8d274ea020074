package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/aimodel-operator/aimodel-operator/internal/monitoringv1"
)

// fields reads a YAML object as the comparison sees it.
func fields(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{}
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestWhatALiveObjectStillHas(t *testing.T) {
	for name, tc := range map[string]struct {
		rendered, live string
		want           bool
	}{
		"the same":                           {`{a: 1, b: x}`, `{a: 1, b: x}`, true},
		"the server added defaults":          {`{spec: {replicas: 1}}`, `{spec: {replicas: 1, paused: false}, status: {x: 1}}`, true},
		"a value was changed":                {`{spec: {replicas: 1}}`, `{spec: {replicas: 2}}`, false},
		"a value was removed":                {`{spec: {replicas: 1}}`, `{spec: {}}`, false},
		"a value became another type":        {`{a: "1"}`, `{a: 1}`, false},
		"a map became a word":                {`{a: {b: 1}}`, `{a: b}`, false},
		"a list became a map":                {`{a: [b]}`, `{a: {b: 1}}`, false},
		"a word became a map":                {`{a: b}`, `{a: {b: 1}}`, false},
		"an empty map is kept":               {`{resources: {}}`, `{resources: {}}`, true},
		"an empty map is stored as nothing":  {`{resources: {}}`, `{}`, true},
		"an empty map was filled":            {`{resources: {}}`, `{resources: {limits: {cpu: "1"}}}`, true},
		"a filled map is stored as nothing":  {`{resources: {limits: {cpu: "1"}}}`, `{}`, false},
		"an empty list is stored as nothing": {`{args: []}`, `{}`, true},
		"an empty list was filled":           {`{args: []}`, `{args: [x]}`, false},
		"a map became null":                  {`{a: {b: 1}}`, `{a: null}`, false},
		"a foreign label":                    {`{labels: {a: x}}`, `{labels: {a: x, b: y}}`, true},
		"a label was taken away":             {`{labels: {a: x}}`, `{labels: {b: y}}`, false},

		"args: another order":   {`{args: [a, b]}`, `{args: [b, a]}`, false},
		"args: one was added":   {`{args: [a, b]}`, `{args: [a, b, c]}`, false},
		"args: one was removed": {`{args: [a, b]}`, `{args: [a]}`, false},

		"env: a foreign variable":        {`{env: [{name: A, value: x}]}`, `{env: [{name: Z, value: z}, {name: A, value: x}]}`, true},
		"groups: a foreign group":        {`{groups: [{name: a, rules: [{expr: x}]}]}`, `{groups: [{name: z}, {name: a, rules: [{expr: x}]}]}`, true},
		"groups: a rule was added":       {`{groups: [{name: a, rules: [{expr: x}]}]}`, `{groups: [{name: a, rules: [{expr: x}, {expr: y}]}]}`, false},
		"env: another order":             {`{env: [{name: A}, {name: B}]}`, `{env: [{name: B}, {name: A}]}`, true},
		"env: a variable was changed":    {`{env: [{name: A, value: x}]}`, `{env: [{name: A, value: y}]}`, false},
		"env: a variable was removed":    {`{env: [{name: A}, {name: B}]}`, `{env: [{name: B}]}`, false},
		"env: a default in a reference":  {`{env: [{name: A, valueFrom: {fieldRef: {fieldPath: p}}}]}`, `{env: [{name: A, valueFrom: {fieldRef: {fieldPath: p, apiVersion: v1}}}]}`, true},
		"envFrom: another was put first": {`{envFrom: [{secretRef: {name: a}}]}`, `{envFrom: [{secretRef: {name: b}}, {secretRef: {name: a}}]}`, false},

		"containers: a sidecar was injected":  {`{containers: [{name: server, image: a}]}`, `{containers: [{name: proxy, image: p}, {name: server, image: a}]}`, true},
		"containers: the image was changed":   {`{containers: [{name: server, image: a}]}`, `{containers: [{name: server, image: b}]}`, false},
		"containers: ours was renamed":        {`{containers: [{name: server, image: a}]}`, `{containers: [{name: other, image: a}]}`, false},
		"volumes: the kind of one changed":    {`{volumes: [{name: shm, emptyDir: {medium: Memory}}]}`, `{volumes: [{name: shm, hostPath: {path: /}}]}`, false},
		"volumeMounts: the path moved":        {`{volumeMounts: [{name: shm, mountPath: /dev/shm}]}`, `{volumeMounts: [{name: shm, mountPath: /shm}]}`, false},
		"volumeMounts: one volume at two":     {`{volumeMounts: [{name: m, mountPath: /a}, {name: m, mountPath: /b}]}`, `{volumeMounts: [{name: m, mountPath: /b}, {name: m, mountPath: /a}]}`, true},
		"volumeMounts: became writable":       {`{volumeMounts: [{name: m, mountPath: /a, readOnly: true}]}`, `{volumeMounts: [{name: m, mountPath: /a}]}`, false},
		"service ports: got a node port":      {`{ports: [{name: http, port: 80, targetPort: http}]}`, `{ports: [{name: http, port: 80, targetPort: http, protocol: TCP, nodePort: 30000}]}`, true},
		"service ports: a foreign port":       {`{ports: [{name: http, port: 80}]}`, `{ports: [{name: grpc, port: 81, protocol: TCP}, {name: http, port: 80, protocol: TCP}]}`, true},
		"service ports: leads elsewhere":      {`{ports: [{name: http, port: 80, targetPort: http}]}`, `{ports: [{name: http, port: 80, targetPort: 9999, protocol: TCP}]}`, false},
		"service ports: was renamed":          {`{ports: [{name: http, port: 80}]}`, `{ports: [{name: web, port: 80, protocol: TCP}]}`, false},
		"service ports: another protocol":     {`{ports: [{name: http, port: 80, protocol: TCP}]}`, `{ports: [{name: http, port: 80, protocol: UDP}]}`, false},
		"container ports: one number, twice":  {`{ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}]}`, `{ports: [{containerPort: 53, protocol: TCP}, {containerPort: 53, protocol: UDP}]}`, true},
		"tolerations: another was added":      {`{tolerations: [{key: gpu, operator: Exists}]}`, `{tolerations: [{key: gpu, operator: Exists}, {key: x, operator: Exists}]}`, false},
		"tolerations: the same":               {`{tolerations: [{key: gpu, operator: Exists}]}`, `{tolerations: [{key: gpu, operator: Exists}]}`, true},
		"headers: one name with two values":   {`{httpHeaders: [{name: A, value: x}, {name: A, value: y}]}`, `{httpHeaders: [{name: A, value: x}, {name: A, value: y}]}`, true},
		"headers: one was added":              {`{httpHeaders: [{name: A, value: x}]}`, `{httpHeaders: [{name: A, value: x}, {name: B, value: y}]}`, false},
		"spread: a foreign constraint":        {`{topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]}`, `{topologySpreadConstraints: [{topologyKey: host, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}, {topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]}`, true},
		"spread: the skew was changed":        {`{topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 1}]}`, `{topologySpreadConstraints: [{topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 2}]}`, false},
		"HPA metrics: the target was changed": {`{metrics: [{type: Resource, resource: {name: cpu, target: {averageUtilization: 80}}}]}`, `{metrics: [{type: Resource, resource: {name: cpu, target: {averageUtilization: 50}}}]}`, false},
		"HPA metrics: one was added":          {`{metrics: [{type: Resource, resource: {name: cpu}}]}`, `{metrics: [{type: Resource, resource: {name: cpu}}, {type: Resource, resource: {name: memory}}]}`, false},
		"owners: another owner, not in charge": {`{ownerReferences: [{uid: a, controller: true}]}`,
			`{ownerReferences: [{uid: b}, {uid: a, controller: true}]}`, true},
		"owners: ours is in charge no more": {`{ownerReferences: [{uid: a, controller: true}]}`, `{ownerReferences: [{uid: a}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := coversMap(fields(t, tc.live), fields(t, tc.rendered)); got != tc.want {
				t.Errorf("covers = %v, want %v", got, tc.want)
			}
		})
	}
}

// rendered gives the objects of every golden case of the chart, prepared.
func rendered(t testing.TB) map[string]Object {
	t.Helper()
	files, err := filepath.Glob("../render/testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]Object{}
	for _, file := range files {
		if strings.HasSuffix(file, ".input.yaml") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(data, []byte("\n---\n")) {
			typed := typedObject(t, document)
			prepared, err := Prepare(typed, ownerReference(owner()), testScheme(t))
			if err != nil {
				t.Fatal(err)
			}
			objects[filepath.Base(file)+"/"+prepared.GVK.Kind] = prepared
		}
	}
	if len(objects) == 0 {
		t.Fatal("no golden case was found")
	}
	return objects
}

func typedObject(t testing.TB, document []byte) client.Object {
	t.Helper()
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal(document, &meta); err != nil {
		t.Fatal(err)
	}
	typed, ok := map[string]client.Object{
		"ServiceAccount":          &corev1.ServiceAccount{},
		"Service":                 &corev1.Service{},
		"Deployment":              &appsv1.Deployment{},
		"PodDisruptionBudget":     &policyv1.PodDisruptionBudget{},
		"HorizontalPodAutoscaler": &autoscalingv2.HorizontalPodAutoscaler{},
		"PodMonitor":              &monitoringv1.PodMonitor{},
	}[meta.Kind]
	if !ok {
		t.Fatalf("no type for kind %q", meta.Kind)
	}
	if err := yaml.UnmarshalStrict(document, typed); err != nil {
		t.Fatal(err)
	}
	return typed
}

// defaulted adds to every object in a value what a server, a webhook or a user might: fields, and entries of the lists
// that are merged.
func defaulted(field string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{"somethingElse": "of somebody else"}
		for key, inner := range v {
			out[key] = defaulted(key, inner)
		}
		return out
	case []any:
		out := make([]any, 0, len(v)+1)
		if key := mergeKey(field, v); key != nil {
			foreign := map[string]any{}
			for _, part := range key {
				foreign[part] = "foreign"
			}
			out = append(out, foreign)
		}
		for _, inner := range v {
			out = append(out, defaulted("", inner))
		}
		return out
	default:
		return v
	}
}

// leaf is a place of a value that was rendered.
type leaf struct {
	path    string
	replace func(with any)
	remove  func()
}

func leaves(path string, value any, replace func(any), remove func()) []leaf {
	var out []leaf
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, leaves(path+"."+key, v[key], func(with any) { v[key] = with }, func() { delete(v, key) })...)
		}
	case []any:
		for i, inner := range v {
			out = append(out, leaves(fmt.Sprintf("%s[%d]", path, i), inner, func(with any) { v[i] = with },
				func() { replace(append(append([]any{}, v[:i]...), v[i+1:]...)) })...)
		}
	default:
		out = append(out, leaf{path: path, replace: replace, remove: remove})
	}
	return out
}

func TestEveryRenderedObjectCoversItself(t *testing.T) {
	for name, object := range rendered(t) {
		want := object.content()
		if !coversMap(want, want) {
			t.Errorf("%s: does not cover itself", name)
		}
		live, _ := defaulted("", want).(map[string]any)
		if !coversMap(live, want) {
			t.Errorf("%s: does not cover itself once defaults and foreign entries are added", name)
		}
	}
}

func TestAChangeOfAnyRenderedLeafIsSeen(t *testing.T) {
	for name, object := range rendered(t) {
		want := object.content()
		for i := range leaves("", want, nil, nil) {
			for how, change := range map[string]func(leaf){
				"replaced": func(l leaf) { l.replace("something else entirely") },
				"removed":  func(l leaf) { l.remove() },
			} {
				live := runtime.DeepCopyJSON(want)
				place := leaves("", live, nil, nil)[i]
				change(place)
				if after, _ := defaulted("", live).(map[string]any); coversMap(after, want) {
					t.Errorf("%s: %s was %s, and that is not seen", name, place.path, how)
				}
			}
		}
	}
}

func FuzzAnyObjectCoversItself(f *testing.F) {
	f.Add([]byte(`{"env":[{"name":"A"},{"name":"A","value":"x"}]}`), 0)
	f.Add([]byte(`{"ports":[{"containerPort":53},{"containerPort":53,"protocol":"UDP"}],"args":["a","b"]}`), 3)
	f.Add([]byte(`{"a":{},"b":[],"c":null,"volumes":[{}],"containers":[{"name":{}}]}`), 1)
	f.Fuzz(func(t *testing.T, data []byte, place int) {
		want := map[string]any{}
		if json.Unmarshal(data, &want) != nil {
			t.Skip()
		}
		dropNulls(want)
		if !coversMap(want, want) {
			t.Fatalf("%s does not cover itself", data)
		}
		places := leaves("", want, nil, nil)
		if len(places) == 0 || hasDoubles("", want) {
			return
		}
		live := runtime.DeepCopyJSON(want)
		changed := leaves("", live, nil, nil)[uint(place)%uint(len(places))]
		changed.replace("\x00something else entirely")
		if coversMap(live, want) {
			t.Fatalf("%s: a change of %s is not seen", data, changed.path)
		}
	})
}

// hasDoubles says whether a list that is merged has two entries of one key, which the API server lets nobody apply.
func hasDoubles(field string, value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if hasDoubles(key, inner) {
				return true
			}
		}
	case []any:
		key := mergeKey(field, v)
		for i, inner := range v {
			if hasDoubles("", inner) {
				return true
			}
			for _, other := range v[:i] {
				if a, ok := inner.(map[string]any); ok && key != nil && sameEntry(other, a, key) {
					return true
				}
			}
		}
	}
	return false
}

func sameEntry(other any, entry map[string]any, key []string) bool {
	fields, ok := other.(map[string]any)
	return ok && sameKey(fields, entry, key)
}

// BenchmarkUnchanged measures what a child costs on a pass on which nothing changed.
func BenchmarkUnchanged(b *testing.B) {
	for _, kind := range []string{"Deployment", "Service"} {
		object := rendered(b)["service-autoscaling-behavior.yaml/"+kind]
		live := typedObject(b, object.encoded)
		b.Run(kind, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if same, err := hasAll(live, object); !same || err != nil {
					b.Fatal(same, err)
				}
			}
		})
	}
}
