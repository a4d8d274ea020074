package diagnose

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestAdmits(t *testing.T) {
	taint := func(effect corev1.TaintEffect) []corev1.Taint {
		return []corev1.Taint{{Key: "team", Value: "a", Effect: effect}}
	}
	labels := map[string]string{"zone": "a", "gpus": "8"}
	asks := func(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.PodSpec {
		return terms(corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}})
	}
	for name, tc := range map[string]struct {
		pod  corev1.PodSpec
		node Node
		want bool
	}{
		"anything":                        {corev1.PodSpec{}, Node{}, true},
		"a label":                         {corev1.PodSpec{NodeSelector: labels}, Node{Labels: labels}, true},
		"a label that it lacks":           {corev1.PodSpec{NodeSelector: map[string]string{"x": ""}}, Node{Labels: labels}, false},
		"another value":                   {corev1.PodSpec{NodeSelector: map[string]string{"zone": "b"}}, Node{Labels: labels}, false},
		"a taint":                         {corev1.PodSpec{}, Node{Taints: taint(corev1.TaintEffectNoSchedule)}, false},
		"a taint that asks only":          {corev1.PodSpec{}, Node{Taints: taint(corev1.TaintEffectPreferNoSchedule)}, true},
		"a taint, tolerated":              {tolerating(corev1.Toleration{Key: "team", Value: "a"}), Node{Taints: taint(corev1.TaintEffectNoSchedule)}, true},
		"a taint, of another value":       {tolerating(corev1.Toleration{Key: "team", Value: "b"}), Node{Taints: taint(corev1.TaintEffectNoSchedule)}, false},
		"a taint, of any value":           {tolerating(corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists}), Node{Taints: taint(corev1.TaintEffectNoSchedule)}, true},
		"any taint":                       {tolerating(corev1.Toleration{Operator: corev1.TolerationOpExists}), Node{Taints: taint(corev1.TaintEffectNoExecute)}, true},
		"a taint, for another effect":     {tolerating(corev1.Toleration{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}), Node{Taints: taint(corev1.TaintEffectNoExecute)}, false},
		"one of some values":              {asks("zone", corev1.NodeSelectorOpIn, "b", "a"), Node{Labels: labels}, true},
		"none of some values":             {asks("zone", corev1.NodeSelectorOpNotIn, "a"), Node{Labels: labels}, false},
		"none of some, without label":     {asks("x", corev1.NodeSelectorOpNotIn, "a"), Node{Labels: labels}, true},
		"that a label exists":             {asks("zone", corev1.NodeSelectorOpExists), Node{Labels: labels}, true},
		"that it does not":                {asks("zone", corev1.NodeSelectorOpDoesNotExist), Node{Labels: labels}, false},
		"more":                            {asks("gpus", corev1.NodeSelectorOpGt, "4"), Node{Labels: labels}, true},
		"less":                            {asks("gpus", corev1.NodeSelectorOpLt, "8"), Node{Labels: labels}, false},
		"more than something else":        {asks("zone", corev1.NodeSelectorOpGt, "4"), Node{Labels: labels}, false},
		"more, without a bound":           {asks("gpus", corev1.NodeSelectorOpGt), Node{Labels: labels}, false},
		"an operator that nobody knows":   {asks("gpus", "Near", "8"), Node{Labels: labels}, false},
		"nothing, in a term":              {terms(corev1.NodeSelectorTerm{}), Node{}, false},
		"a name":                          {named("a"), Node{Name: "a"}, true},
		"another name":                    {named("b"), Node{Name: "a"}, false},
		"one term of two":                 {terms(named("b").Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0], corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpExists}}}), Node{Name: "a", Labels: labels}, true},
		"an affinity of another kind":     {corev1.PodSpec{Affinity: &corev1.Affinity{}}, Node{}, true},
		"an affinity that is a wish only": {corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}}, Node{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := admits(&corev1.Pod{Spec: tc.pod}, &tc.node); got != tc.want {
				t.Errorf("admits = %v, want %v", got, tc.want)
			}
		})
	}
}

func terms(terms ...corev1.NodeSelectorTerm) corev1.PodSpec {
	return corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}}
}

func named(name string) corev1.PodSpec {
	return terms(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}})
}

func tolerating(toleration corev1.Toleration) corev1.PodSpec {
	return corev1.PodSpec{Tolerations: []corev1.Toleration{toleration}}
}
