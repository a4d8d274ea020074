package registration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

func record(key string) aiv1.Registration {
	return aiv1.Registration{Key: key, RegistryRef: &aiv1.RegistrationRegistry{Namespace: "a", Name: "r-" + key}}
}

func known(key string) aiv1.Registration {
	r := record(key)
	r.ID = "id-" + key
	return r
}

func TestAdvance(t *testing.T) {
	first, second := record("1"), record("2")
	for name, tc := range map[string]struct {
		status *aiv1.RegistryStatus
		wanted *aiv1.Registration
		want   aiv1.RegistryStatus
	}{
		"the first one":        {nil, &first, aiv1.RegistryStatus{Registration: first}},
		"the same":             {&aiv1.RegistryStatus{Registration: known("1")}, &first, aiv1.RegistryStatus{Registration: known("1")}},
		"another":              {&aiv1.RegistryStatus{Registration: known("1")}, &second, aiv1.RegistryStatus{Registration: second, Previous: []aiv1.Registration{known("1")}}},
		"none any more":        {&aiv1.RegistryStatus{Registration: known("1")}, nil, aiv1.RegistryStatus{Previous: []aiv1.Registration{known("1")}}},
		"none, as before":      {&aiv1.RegistryStatus{Previous: []aiv1.Registration{known("1")}}, nil, aiv1.RegistryStatus{Previous: []aiv1.Registration{known("1")}}},
		"not yet known to be":  {&aiv1.RegistryStatus{Registration: first}, &second, aiv1.RegistryStatus{Registration: second, Previous: []aiv1.Registration{first}}},
		"back to the previous": {&aiv1.RegistryStatus{Registration: second, Previous: []aiv1.Registration{known("1")}}, &first, aiv1.RegistryStatus{Registration: known("1"), Previous: []aiv1.Registration{second}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Advance(tc.status, tc.wanted)
			if len(got.Previous) == 0 {
				got.Previous = nil
			}
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Errorf("status (-want +got)\n%s", diff)
			}
		})
	}
}

func TestWithout(t *testing.T) {
	status := &aiv1.RegistryStatus{Registration: known("2"), Previous: []aiv1.Registration{known("1")}}
	if diff := cmp.Diff(&aiv1.RegistryStatus{Registration: known("2")}, Without(status, "1")); diff != "" {
		t.Errorf("without the previous (-want +got)\n%s", diff)
	}
	if got := Without(Without(status, "1"), "2"); got != nil {
		t.Errorf("without both: %+v", got)
	}
}

func TestAModelUsesTheRegistryItNamesAndThoseWhereItHasEntries(t *testing.T) {
	settings := Settings{Cluster: "c", Default: types.NamespacedName{Namespace: "z", Name: "default"}}
	model := &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "m"}}
	if got := settings.Registries(model); len(got) != 0 {
		t.Errorf("a model that asks for nothing uses %v", got)
	}
	model.Spec.Registry = &aiv1.Registry{}
	model.Status.Registry = &aiv1.RegistryStatus{Registration: record("1"), Previous: []aiv1.Registration{record("2")}}
	want := []types.NamespacedName{{Namespace: "a", Name: "r-1"}, {Namespace: "a", Name: "r-2"}, settings.Default}
	if diff := cmp.Diff(want, settings.Registries(model)); diff != "" {
		t.Errorf("registries (-want +got)\n%s", diff)
	}
}

func TestTheKeyOfAnEntryTellsRegistriesApart(t *testing.T) {
	settings := Settings{Cluster: "c"}
	model := &aiv1.AIModel{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "m"}, Spec: aiv1.AIModelSpec{
		ModelName: "llama", ModelVersion: "1", Registry: &aiv1.Registry{}}}
	one := settings.Wanted(model, types.NamespacedName{Namespace: "a", Name: "one"})
	two := settings.Wanted(model, types.NamespacedName{Namespace: "a", Name: "two"})
	if one.Key == two.Key || one.Name != "llama" {
		t.Errorf("%+v and %+v", one, two)
	}
}
