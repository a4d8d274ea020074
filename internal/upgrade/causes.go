package upgrade

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	"github.com/aimodel-operator/aimodel-operator/internal/conditions"
	"github.com/aimodel-operator/aimodel-operator/internal/registry"
)

// Reasons why the operator should not be replaced now.
const (
	// ReasonRollingOut: a model's new version is being brought up. On a full pool the operator makes room for it, and an
	// upgrade in between would leave it waiting for longer. A rollout that is stuck is not one that progresses.
	ReasonRollingOut = "RollingOut"
	// ReasonCleaningUp: a deleted object is being taken out of where it was registered.
	ReasonCleaningUp = "CleaningUp"
)

// reported is what both kinds have.
type reported interface {
	client.Object
	GetConditions() []metav1.Condition
}

// Rollouts holds an upgrade back while a rollout makes progress.
func Rollouts(ctx context.Context, reader client.Reader) (reason, message string, err error) {
	return first(ctx, reader, ReasonRollingOut, "is being rolled out", func(object reported) bool {
		progressing := conditions.Of(object.GetConditions(), aiv1.ConditionProgressing)
		return object.GetDeletionTimestamp().IsZero() && progressing.IsTrue() && progressing.Reason == aiv1.ReasonRollingOut
	})
}

// longestCleanup is for how long a cleanup can hold an upgrade back: one that works on has told more than once by then what it waits
// for, unless the registry says "in progress" for ever.
const longestCleanup = 10 * time.Minute

// works says, of every reason that CleanedUp can be False for, whether the cleanup goes on by itself right now. All others wait
// for somebody or something that may never come, and are tried again by the next version as well as by this one.
var works = map[string]bool{
	aiv1.ReasonInProgress: true,

	aiv1.ReasonAdoptionRequired:       false,
	aiv1.ReasonBlocked:                false,
	aiv1.ReasonConflict:               false,
	aiv1.ReasonDeleteUnsupported:      false,
	aiv1.ReasonInvalid:                false,
	aiv1.ReasonRateLimited:            false,
	aiv1.ReasonRegistered:             false,
	aiv1.ReasonRegistering:            false,
	aiv1.ReasonRegistryDeleting:       false,
	aiv1.ReasonRegistryNotFound:       false,
	aiv1.ReasonSkipped:                false,
	aiv1.ReasonTimedOut:               false,
	aiv1.ReasonUnauthorized:           false,
	aiv1.ReasonUnreachable:            false,
	aiv1.ReasonUpdatePending:          false,
	string(registry.OtherIncarnation): false,
}

// Cleanups holds an upgrade back while one of the operator's own finalizers is at work.
func Cleanups(ctx context.Context, reader client.Reader) (reason, message string, err error) {
	return first(ctx, reader, ReasonCleaningUp, "is being cleaned up", func(object reported) bool {
		if !aiv1.IsBeingCleanedUp(object) || time.Since(object.GetDeletionTimestamp().Time) > longestCleanup {
			return false
		}
		// As long as it is not False, the first try is under way.
		cleanedUp := conditions.Of(object.GetConditions(), aiv1.ConditionCleanedUp)
		return cleanedUp.Status != metav1.ConditionFalse || works[cleanedUp.Reason]
	})
}

// first names the first object, by namespace and name, that the question holds for.
func first(ctx context.Context, reader client.Reader, reason, what string, holds func(reported) bool) (string, string, error) {
	models, services := &aiv1.AIModelList{}, &aiv1.InferenceServiceList{}
	for _, list := range []client.ObjectList{models, services} {
		if err := reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return "", "", fmt.Errorf("list %T: %w", list, err)
		}
	}
	least := ""
	consider := func(kind string, object reported) {
		name := fmt.Sprintf("%s %s/%s", kind, object.GetNamespace(), object.GetName())
		if holds(object) && (least == "" || name < least) {
			least = name
		}
	}
	for i := range models.Items {
		consider("AIModel", &models.Items[i])
	}
	for i := range services.Items {
		consider("InferenceService", &services.Items[i])
	}
	if least == "" {
		return "", "", nil
	}
	return reason, least + " " + what + ".", nil
}
