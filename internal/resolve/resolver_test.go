package resolve

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// secretWord stands in every value of every Secret here.
const secretWord = "correct-horse-battery-staple"

// store is what the resolver reads from, with a count of the reads.
type store struct {
	client.Reader
	reads int
	fail  error
}

func newStore(t *testing.T, objects ...client.Object) *store {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), aiv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	s := &store{}
	inner := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	s.Reader = interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			s.reads++
			if s.fail != nil {
				return s.fail
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	return s
}

func model(change ...func(*aiv1.AIModel)) *aiv1.AIModel {
	m := &aiv1.AIModel{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "llama", Generation: 3},
		Spec: aiv1.AIModelSpec{
			ModelName: "llama-3", ModelVersion: "1", Image: "server:1",
			ModelProvider: aiv1.ProviderHuggingFace, ModelType: aiv1.TypeLLM,
		},
		Status: aiv1.AIModelStatus{Conditions: []metav1.Condition{
			{Type: aiv1.ConditionResolved, Status: metav1.ConditionTrue, ObservedGeneration: 3},
		}},
	}
	for _, c := range change {
		c(m)
	}
	return m
}

func credentialsIn(namespace, name string) func(*aiv1.AIModel) {
	return func(m *aiv1.AIModel) {
		m.Spec.CredentialsRef = &corev1.SecretReference{Namespace: namespace, Name: name}
	}
}

func secret(kind corev1.SecretType, keys ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "token"}, Type: kind, Data: map[string][]byte{}}
	for _, key := range keys {
		s.Data[key] = []byte(secretWord)
	}
	return s
}

func inferenceService() *aiv1.InferenceService {
	return &aiv1.InferenceService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "chat"},
		Spec: aiv1.InferenceServiceSpec{
			ModelRef: aiv1.ModelReference{Name: "llama"},
			Runtime:  aiv1.Runtime{Name: aiv1.RuntimeVLLM},
		},
	}
}

var secrets = schema.GroupResource{Resource: "secrets"}

func TestCredentials(t *testing.T) {
	for name, tc := range map[string]struct {
		ref  func(*aiv1.AIModel)
		live *corev1.Secret
		fail error

		want        *Credentials
		wantProblem *Problem
		wantError   string
		wantReads   int
	}{
		"none are named": {},
		"a token, its keys in order": {
			ref: credentialsIn("", "token"), live: secret(corev1.SecretTypeOpaque, "Z", "A", "M"), wantReads: 1,
			want: &Credentials{SecretName: "token", Keys: []string{"A", "M", "Z"}},
		},
		"the own namespace, named": {
			ref: credentialsIn("team-a", "token"), live: secret(corev1.SecretTypeOpaque, "A"), wantReads: 1,
			want: &Credentials{SecretName: "token", Keys: []string{"A"}},
		},
		"a Secret without keys": {
			ref: credentialsIn("", "token"), live: secret(corev1.SecretTypeOpaque), wantReads: 1,
			want: &Credentials{SecretName: "token"},
		},
		"for pulling images": {
			ref: credentialsIn("", "token"), live: secret(corev1.SecretTypeDockerConfigJson, ".dockerconfigjson"), wantReads: 1,
			want: &Credentials{SecretName: "token", ImagePull: true, Keys: []string{".dockerconfigjson"}},
		},
		"for pulling images, of the old form": {
			ref: credentialsIn("", "token"), live: secret(corev1.SecretTypeDockercfg, ".dockercfg"), wantReads: 1,
			want: &Credentials{SecretName: "token", ImagePull: true, Keys: []string{".dockercfg"}},
		},
		"another namespace, refused without a read": {
			ref: credentialsIn("team-b", "token"), live: secret(corev1.SecretTypeOpaque, "A"),
			wantProblem: &Problem{Reason: aiv1.ReasonSecretNamespace, Terminal: true,
				Message: `credentialsRef names namespace "team-b"; a Secret can be used from the model's own namespace "team-a" only`},
		},
		"missing": {
			ref: credentialsIn("", "token"), wantReads: 1,
			wantProblem: &Problem{Reason: aiv1.ReasonSecretNotFound, Message: `Secret "token" does not exist in namespace "team-a"`},
		},
		"forbidden": {
			ref: credentialsIn("", "token"), fail: apierrors.NewForbidden(secrets, "token", errors.New("no")), wantReads: 1,
			wantProblem: &Problem{Reason: aiv1.ReasonSecretForbidden,
				Message: `the operator may not read Secret "token" in namespace "team-a": bind ClusterRole aimodel-operator-credentials-reader to its service account there`},
		},
		"the read fails": {
			ref: credentialsIn("", "token"), fail: apierrors.NewTimeoutError("slow", 1), wantReads: 1,
			wantError: `read Secret "token": Timeout: slow`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := newStore(t)
			if tc.live != nil {
				live = newStore(t, tc.live)
			}
			live.fail = tc.fail
			m := model()
			if tc.ref != nil {
				tc.ref(m)
			}
			resolver := &Resolver{Cached: newStore(t), Live: live}
			inputs, err := resolver.AIModel(t.Context(), m)
			checkError(t, err, tc.wantProblem, tc.wantError)
			if diff := cmp.Diff(tc.want, inputs.Credentials); diff != "" {
				t.Errorf("credentials (-want +got):\n%s", diff)
			}
			if live.reads != tc.wantReads {
				t.Errorf("%d reads of Secrets, want %d", live.reads, tc.wantReads)
			}
		})
	}
}

func checkError(t *testing.T, err error, wantProblem *Problem, wantError string) {
	t.Helper()
	var problem *Problem
	errors.As(err, &problem)
	if diff := cmp.Diff(wantProblem, problem); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	if wantProblem != nil {
		wantError = wantProblem.Message
	}
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != wantError {
		t.Errorf("error = %q, want %q", got, wantError)
	}
}

func TestInferenceService(t *testing.T) {
	resolved := func(status metav1.ConditionStatus, generation int64, message string) func(*aiv1.AIModel) {
		return func(m *aiv1.AIModel) {
			m.Status.Conditions = []metav1.Condition{{Type: aiv1.ConditionResolved, Status: status, ObservedGeneration: generation, Message: message}}
		}
	}
	for name, tc := range map[string]struct {
		model       *aiv1.AIModel
		fail        error
		wantProblem *Problem
		wantError   string
	}{
		"its model is there": {model: model()},
		"its model does not exist": {
			wantProblem: &Problem{Reason: aiv1.ReasonModelNotFound, Wakes: true, Message: `AIModel "llama" does not exist in namespace "team-a"`},
		},
		"its model is in another namespace": {
			model:       model(func(m *aiv1.AIModel) { m.Namespace = "team-b" }),
			wantProblem: &Problem{Reason: aiv1.ReasonModelNotFound, Wakes: true, Message: `AIModel "llama" does not exist in namespace "team-a"`},
		},
		"its model is served elsewhere": {
			model: model(func(m *aiv1.AIModel) { m.Spec.Endpoint = "https://api.example.com/v1" }),
			wantProblem: &Problem{Reason: aiv1.ReasonModelServedElsewhere, Wakes: true,
				Message: `AIModel "llama" is served at https://api.example.com/v1, so there is nothing to run for it`},
		},
		"its model answers on a path": {model: model(func(m *aiv1.AIModel) { m.Spec.Endpoint = "/v1" })},
		"its model was not looked at": {
			model: model(func(m *aiv1.AIModel) { m.Status.Conditions = nil }),
			wantProblem: &Problem{Reason: aiv1.ReasonModelNotObserved, Wakes: true,
				Message: `AIModel "llama" has not been looked at yet`},
		},
		"its model was looked at before its last change": {model: model(resolved(metav1.ConditionTrue, 2, ""))},
		"its model does not resolve": {
			model: model(resolved(metav1.ConditionFalse, 3, `Secret "token" does not exist`)),
			wantProblem: &Problem{Reason: aiv1.ReasonModelNotResolved, Wakes: true,
				Message: `AIModel "llama" does not resolve: Secret "token" does not exist`},
		},
		"nobody knows whether its model resolves": {
			model: model(resolved(metav1.ConditionUnknown, 3, "slow")),
			wantProblem: &Problem{Reason: aiv1.ReasonModelNotResolved, Wakes: true,
				Message: `AIModel "llama" does not resolve: slow`},
		},
		"the credentials of its model are missing": {
			model:       model(credentialsIn("", "token")),
			wantProblem: &Problem{Reason: aiv1.ReasonSecretNotFound, Message: `Secret "token" does not exist in namespace "team-a"`},
		},
		"the read of its model fails": {
			fail:      apierrors.NewTimeoutError("slow", 1),
			wantError: `read AIModel "llama": Timeout: slow`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cached := newStore(t)
			if tc.model != nil {
				cached = newStore(t, tc.model)
			}
			cached.fail = tc.fail
			resolver := &Resolver{Cached: cached, Live: newStore(t)}
			inputs, err := resolver.InferenceService(t.Context(), inferenceService())
			checkError(t, err, tc.wantProblem, tc.wantError)
			if err == nil && inputs.Model.Name != "llama-3" {
				t.Errorf("inputs = %+v, want those of the model", inputs)
			}
		})
	}
}

func TestNoContentOfASecretIsHandedOn(t *testing.T) {
	live := newStore(t, secret(corev1.SecretTypeOpaque, "HF_TOKEN", "OTHER"))
	resolver := &Resolver{Cached: newStore(t, model(credentialsIn("", "token"))), Live: live}
	own, err := resolver.AIModel(t.Context(), model(credentialsIn("", "token")))
	if err != nil {
		t.Fatal(err)
	}
	ofService, err := resolver.InferenceService(t.Context(), inferenceService())
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal([]any{own, ofService})
	if err != nil {
		t.Fatal(err)
	}
	// What is remembered between passes is looked at too.
	text := string(encoded) + fmt.Sprintf("%+v", resolver.secrets)
	for _, word := range []string{secretWord, base64.StdEncoding.EncodeToString([]byte(secretWord))} {
		if strings.Contains(text, word) {
			t.Errorf("holds the content of the Secret: %s", text)
		}
	}
	if !strings.Contains(text, "HF_TOKEN") {
		t.Errorf("does not hold the names of the keys: %s", text)
	}
}

func TestASecretIsBelievedForAWhile(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	live := newStore(t, secret(corev1.SecretTypeOpaque, "A"))
	resolver := &Resolver{Cached: newStore(t), Live: live, Now: func() time.Time { return now }}
	start := now
	for _, step := range []struct {
		name      string
		after     time.Duration
		fail      error
		wantReads int
		wantOK    bool
	}{
		{"the first look", 0, nil, 1, true},
		{"a moment later", time.Second, nil, 1, true},
		{"at the last moment", secretTTL, nil, 1, true},
		{"just after", secretTTL + 1, nil, 2, true},
		{"while it is believed, though reads fail", secretTTL + time.Minute, apierrors.NewTimeoutError("slow", 1), 2, true},
		{"when it is believed no more, and reads fail", 3 * secretTTL, apierrors.NewTimeoutError("slow", 1), 3, false},
		{"and again", 3 * secretTTL, nil, 4, true},
	} {
		now, live.fail = start.Add(step.after), step.fail
		_, err := resolver.AIModel(t.Context(), model(credentialsIn("", "token")))
		if (err == nil) != step.wantOK || live.reads != step.wantReads {
			t.Errorf("%s: error = %v, want none: %v; %d reads, want %d", step.name, err, step.wantOK, live.reads, step.wantReads)
		}
	}
	if now := (&Resolver{}).now(); time.Since(now) > time.Minute {
		t.Errorf("without a clock it is %s", now)
	}
}

func TestAMissingSecretIsLookedForAgain(t *testing.T) {
	live := newStore(t)
	resolver := &Resolver{Cached: newStore(t), Live: live}
	for range 3 {
		if _, err := resolver.AIModel(t.Context(), model(credentialsIn("", "token"))); err == nil {
			t.Fatal("no error")
		}
	}
	if live.reads != 3 {
		t.Errorf("%d reads, want 3: that it is missing is not remembered", live.reads)
	}
}

func TestInputsOfBothKinds(t *testing.T) {
	parameters := &runtime.RawExtension{Raw: []byte(`{"a":1}`)}
	m := model(func(m *aiv1.AIModel) {
		m.Spec.Port, m.Spec.HealthPath, m.Spec.Endpoint = new(int32(9000)), "/healthz", "/v1/chat"
		m.Spec.Parameters = parameters
	})
	facts := Model{Name: "llama-3", Version: "1", Provider: "HuggingFace", Type: "LLM", Parameters: json.RawMessage(`{"a":1}`), Path: "/v1/chat"}

	own := FromAIModel(m, nil)
	wantOwn := Inputs{
		Owner:    Owner{Kind: "AIModel", Namespace: "team-a", Name: "llama", ChildName: "llama", ModelObject: "llama"},
		Model:    facts,
		Runtime:  aiv1.Runtime{Name: aiv1.RuntimeCustom, Image: "server:1", Port: new(int32(9000)), HealthPath: "/healthz"},
		Replicas: 1,
	}
	if diff := cmp.Diff(wantOwn, own, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("inputs of the model (-want +got):\n%s", diff)
	}

	svc := inferenceService()
	svc.Spec.Replicas = new(int32(0))
	svc.Spec.ChartValues = &runtime.RawExtension{}
	wantService := Inputs{
		Owner:   Owner{Kind: "InferenceService", Namespace: "team-a", Name: "chat", ChildName: "chat-server", ModelObject: "llama"},
		Model:   facts,
		Runtime: aiv1.Runtime{Name: aiv1.RuntimeVLLM},
	}
	if diff := cmp.Diff(wantService, FromInferenceService(svc, m, nil), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("inputs of the service (-want +got):\n%s", diff)
	}

	m.Spec.Endpoint = "https://api.example.com"
	if got := FromAIModel(m, nil).Model.Path; got != "" {
		t.Errorf("path = %q, want none for a URL", got)
	}
}

func TestIsURL(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"": false, "/v1": false, "/http://x": false, "http:/x": false, "ftp://x": false, "http://x": true, "https://x/y": true,
	} {
		if got := IsURL(endpoint); got != want {
			t.Errorf("IsURL(%q) = %v, want %v", endpoint, got, want)
		}
	}
}
