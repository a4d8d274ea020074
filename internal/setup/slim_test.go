package setup

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/diagnose"
	"github.com/aimodel-operator/aimodel-operator/internal/facts"
	"github.com/aimodel-operator/aimodel-operator/internal/index"
)

// podCase is what is read here of the cases of package diagnose.
type podCase struct {
	Pod    *corev1.Pod               `json:"pod"`
	Pods   []corev1.Pod              `json:"pods"`
	Now    metav1.Time               `json:"now"`
	Events []diagnose.Event          `json:"events"`
	Nodes  []diagnose.Node           `json:"nodes"`
	Claims map[string]diagnose.Claim `json:"claims"`

	Deployment *appsv1.Deployment `json:"deployment"`
	Jobs       []diagnose.Job     `json:"jobs"`
}

// facts are those of the case with other pods.
func (c podCase) facts(pods ...corev1.Pod) diagnose.Facts {
	return diagnose.Facts{Pods: pods, Now: c.Now.Time, Nodes: c.Nodes, Claims: c.Claims, Deployment: c.Deployment, Jobs: c.Jobs,
		Events: map[types.UID][]diagnose.Event{"uid": c.Events}}
}

func podCases(t *testing.T) map[string]podCase {
	t.Helper()
	all := map[string]podCase{}
	for _, file := range []string{"pods", "facts"} {
		data, err := os.ReadFile("../diagnose/testdata/" + file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		var cases map[string]podCase
		if err := yaml.Unmarshal(data, &cases); err != nil {
			t.Fatal(err)
		}
		for name, tc := range cases {
			if tc.Pod != nil {
				tc.Pods = append(tc.Pods, *tc.Pod)
			}
			all[name] = tc
		}
	}
	return all
}

func TestASlimPodTellsAsMuch(t *testing.T) {
	for name, tc := range podCases(t) {
		for i := range tc.Pods {
			t.Run(name, func(t *testing.T) { checkSlim(t, tc, &tc.Pods[i]) })
		}
	}
	service := &corev1.Service{}
	if got, err := slimPod(service); got != any(service) || err != nil {
		t.Errorf("something else became %v, %v", got, err)
	}
}

func checkSlim(t *testing.T, tc podCase, pod *corev1.Pod) {
	t.Helper()
	pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion = "team-a", "llama-1", "uid", "7"
	pod.Labels = map[string]string{aiv1.LabelInferenceService: "chat", aiv1.LabelManagedBy: aiv1.ManagedBy, diagnose.TemplateHash: "x", "big": "story"}
	pod.Annotations = map[string]string{aiv1.AnnotationOwner: "chat", "big": "story"}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "big"})
	before := pod.DeepCopy()

	object, err := slimPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	slim, ok := object.(*corev1.Pod)
	if !ok {
		t.Fatalf("%T is no pod", object)
	}
	if diff := cmp.Diff(diagnose.Pod(pod), diagnose.Pod(slim)); diff != "" {
		t.Errorf("finding (-whole +slim):\n%s", diff)
	}
	if diff := cmp.Diff(diagnose.Diagnose(tc.facts(*pod)), diagnose.Diagnose(tc.facts(*slim))); diff != "" {
		t.Errorf("diagnosis (-whole +slim):\n%s", diff)
	}
	tc.Now = metav1.NewTime(tc.Now.Add(time.Hour))
	if diff := cmp.Diff(diagnose.NeedsOf(tc.facts(*pod)), diagnose.NeedsOf(tc.facts(*slim))); diff != "" {
		t.Errorf("needs (-whole +slim):\n%s", diff)
	}
	wantKind, wantName := index.OwnerOfPod(pod)
	if kind, name := index.OwnerOfPod(slim); kind != wantKind || name != wantName {
		t.Errorf("owner = %s %s, want %s %s", kind, name, wantKind, wantName)
	}
	if slim.Namespace != "team-a" || slim.Name != "llama-1" || slim.UID != "uid" || slim.ResourceVersion != "7" {
		t.Errorf("identity = %v", slim.ObjectMeta)
	}
	for _, volume := range slim.Spec.Volumes {
		if volume.Name == "big" {
			t.Error("keeps a volume that nobody reads")
		}
	}
	if slim.ManagedFields != nil || len(slim.Annotations) != 1 || len(slim.Labels) != 3 {
		t.Errorf("keeps what nobody reads: %v", slim.ObjectMeta)
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("the pod was changed (-before +after):\n%s", diff)
	}
	again, err := slimPod(slim)
	if diff := cmp.Diff(object, again); diff != "" || err != nil {
		t.Errorf("slim twice is another pod (%v):\n%s", err, diff)
	}
}

func TestASlimReplicaSetTellsItsRevision(t *testing.T) {
	set := replicaSets()
	set.Namespace, set.Name, set.UID, set.ResourceVersion = "team-a", "llama-7", "uid", "7"
	set.Labels = map[string]string{diagnose.TemplateHash: "7"}
	set.Annotations = map[string]string{facts.RevisionAnnotation: "3", "big": "story"}
	set.OwnerReferences = []metav1.OwnerReference{{UID: "deployment"}}
	set.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "controller"}}
	want := set.DeepCopy()
	want.ManagedFields, want.Annotations = nil, map[string]string{facts.RevisionAnnotation: "3"}
	got, err := slimMetadata(set)
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("slim (-want +got), %v:\n%s", err, diff)
	}
	service := &corev1.Service{}
	if got, err := slimMetadata(service); got != any(service) || err != nil {
		t.Errorf("something else became %v, %v", got, err)
	}
}
