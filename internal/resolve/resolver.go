package resolve

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// secretTTL is how long what was learned about a Secret is believed. Its type cannot change, so only keys that were
// added or a Secret that was deleted is seen late.
const secretTTL = 2 * time.Minute

// Problem is a reference that does not resolve. Reason and Message are for the Resolved condition.
type Problem struct {
	Reason, Message string
	// Wakes is true when a watch tells of the cure; otherwise the reference has to be tried again after a while.
	Wakes bool
	// Terminal is true when only a change of the object itself can cure it.
	Terminal bool
}

func (p *Problem) Error() string { return p.Message }

// Resolver follows references. AIModels come from the cache; Secrets are read live, by name, because the operator holds
// no permission to list or watch them.
type Resolver struct {
	// Cached reads AIModels.
	Cached client.Reader
	// Live reads Secrets, past every cache.
	Live client.Reader
	// Site becomes part of all Inputs.
	Site Site

	mu      sync.Mutex
	secrets map[types.NamespacedName]secretFacts
	// Now tells the time. Nil means time.Now.
	Now func() time.Time
}

type secretFacts struct {
	credentials Credentials
	readAt      time.Time
}

// AIModel resolves the references of a model that serves itself, and gives its Inputs. The error is a *Problem, or a
// failed read that is worth a retry.
func (r *Resolver) AIModel(ctx context.Context, model *aiv1.AIModel) (Inputs, error) {
	credentials, err := r.credentials(ctx, model)
	if err != nil {
		return Inputs{}, err
	}
	inputs := FromAIModel(model, credentials)
	inputs.Site = r.Site
	return inputs, nil
}

// InferenceService resolves the model of a service and the references of that model. Errors are as for AIModel.
func (r *Resolver) InferenceService(ctx context.Context, svc *aiv1.InferenceService) (Inputs, error) {
	model := &aiv1.AIModel{}
	key := types.NamespacedName{Namespace: svc.Namespace, Name: svc.Spec.ModelRef.Name}
	if err := r.Cached.Get(ctx, key, model); apierrors.IsNotFound(err) {
		return Inputs{}, &Problem{
			Reason:  aiv1.ReasonModelNotFound,
			Message: fmt.Sprintf("AIModel %q does not exist in namespace %q", key.Name, key.Namespace),
			Wakes:   true,
		}
	} else if err != nil {
		return Inputs{}, fmt.Errorf("read AIModel %q: %w", key.Name, err)
	}
	if IsURL(model.Spec.Endpoint) {
		return Inputs{}, &Problem{
			Reason:  aiv1.ReasonModelServedElsewhere,
			Message: fmt.Sprintf("AIModel %q is served at %s, so there is nothing to run for it", model.Name, model.Spec.Endpoint),
			Wakes:   true,
		}
	}
	if err := modelResolved(model); err != nil {
		return Inputs{}, err
	}
	credentials, err := r.credentials(ctx, model)
	if err != nil {
		return Inputs{}, err
	}
	inputs := FromInferenceService(svc, model, credentials)
	inputs.Site = r.Site
	return inputs, nil
}

// modelResolved waits for the AIModel's own verdict on its references, so that one place decides. A verdict on an earlier
// generation is good enough: to wait for the next would make every service unready whenever its model is scaled.
func modelResolved(model *aiv1.AIModel) error {
	resolved := meta.FindStatusCondition(model.Status.Conditions, aiv1.ConditionResolved)
	if resolved == nil {
		return &Problem{
			Reason:  aiv1.ReasonModelNotObserved,
			Message: fmt.Sprintf("AIModel %q has not been looked at yet", model.Name),
			Wakes:   true,
		}
	}
	if resolved.Status == metav1.ConditionTrue {
		return nil
	}
	return &Problem{
		Reason:  aiv1.ReasonModelNotResolved,
		Message: fmt.Sprintf("AIModel %q does not resolve: %s", model.Name, resolved.Message),
		Wakes:   true,
	}
}

func (r *Resolver) credentials(ctx context.Context, model *aiv1.AIModel) (*Credentials, error) {
	ref := model.Spec.CredentialsRef
	if ref == nil {
		return nil, nil
	}
	if ref.Namespace != "" && ref.Namespace != model.Namespace {
		return nil, &Problem{
			Reason: aiv1.ReasonSecretNamespace,
			Message: fmt.Sprintf("credentialsRef names namespace %q; a Secret can be used from the model's own namespace %q only",
				ref.Namespace, model.Namespace),
			Terminal: true,
		}
	}
	key := types.NamespacedName{Namespace: model.Namespace, Name: ref.Name}
	if known, ok := r.recall(key); ok {
		return known, nil
	}
	secret := &corev1.Secret{}
	err := r.Live.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &Problem{
			Reason:  aiv1.ReasonSecretNotFound,
			Message: fmt.Sprintf("Secret %q does not exist in namespace %q", key.Name, key.Namespace),
		}
	case apierrors.IsForbidden(err):
		return nil, &Problem{
			Reason: aiv1.ReasonSecretForbidden,
			Message: fmt.Sprintf("the operator may not read Secret %q in namespace %q: "+
				"bind ClusterRole aimodel-operator-credentials-reader to its service account there", key.Name, key.Namespace),
		}
	case err != nil:
		return nil, fmt.Errorf("read Secret %q: %w", key.Name, err)
	}
	return r.remember(key, secret), nil
}

func (r *Resolver) recall(key types.NamespacedName) (*Credentials, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	facts, ok := r.secrets[key]
	if !ok || r.now().Sub(facts.readAt) > secretTTL {
		delete(r.secrets, key)
		return nil, false
	}
	return &facts.credentials, true
}

// remember keeps the type and the names of the keys, and lets the content go.
func (r *Resolver) remember(key types.NamespacedName, secret *corev1.Secret) *Credentials {
	credentials := CredentialsOf(secret)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.secrets == nil {
		r.secrets = map[types.NamespacedName]secretFacts{}
	}
	r.secrets[key] = secretFacts{credentials: credentials, readAt: r.now()}
	return &credentials
}

// CredentialsOf gives what may be known about a Secret: never a value.
func CredentialsOf(secret *corev1.Secret) Credentials {
	credentials := Credentials{
		SecretName: secret.Name,
		ImagePull:  secret.Type == corev1.SecretTypeDockerConfigJson || secret.Type == corev1.SecretTypeDockercfg,
	}
	for name := range secret.Data {
		credentials.Keys = append(credentials.Keys, name)
	}
	slices.Sort(credentials.Keys)
	return credentials
}

func (r *Resolver) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}
