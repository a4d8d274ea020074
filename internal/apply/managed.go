package apply

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// adoptTries is how often the handing over is tried before the whole reconcile is.
const adoptTries = 5

// digestOf returns the digest of what was last sent for a live object.
func digestOf(live client.Object) string {
	_, digest, _ := strings.Cut(live.GetAnnotations()[aiv1.AnnotationApplied], ":")
	return digest
}

// IsLatest says whether a live object is the one that was sent last for this rendering.
func IsLatest(live client.Object, object Object) bool { return digestOf(live) == object.digest }

// wasCreated says whether a live object has only been created so far, and never been applied.
func wasCreated(live client.Object) bool {
	return strings.HasPrefix(live.GetAnnotations()[aiv1.AnnotationApplied], createdPrefix)
}

// adoptCreatedFields makes the fields that came with the create belong to the field owner as if they had been applied.
//
// The API server records a create and an apply of one owner apart, and an apply never removes what a create brought. So
// without this a variable that is taken out of the spec would stay. The mark that says "created" is replaced by the apply
// that follows, so a crash in between repeats this, which does no harm.
func (a *Applier) adoptCreatedFields(ctx context.Context, object Object, cached client.Object) (err error) {
	// The patch holds only for the version that was read, and a young object changes often.
	for range adoptTries {
		if err = a.adoptOnce(ctx, object, cached); !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func (a *Applier) adoptOnce(ctx context.Context, object Object, cached client.Object) error {
	live, err := a.get(ctx, a.Live, object)
	if err != nil {
		return err
	}
	if live.GetUID() != cached.GetUID() {
		return fmt.Errorf("it was replaced by another object of the same name")
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(aiv1.ManagedBy), aiv1.ManagedBy)
	if err != nil {
		return err
	}
	if len(patch) == 0 {
		return nil
	}
	return a.Client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch))
}
