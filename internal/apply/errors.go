package apply

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// ConflictError says that an object of a needed name exists and is not controlled by the owner that needs it.
type ConflictError struct {
	Kind, Namespace, Name string
	// Holder says whose it is.
	Holder string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s %q exists in namespace %q and is %s; it is left as it is", e.Kind, e.Name, e.Namespace, e.Holder)
}

// NotServedError says that the cluster lacks the API of an object.
type NotServedError struct{ GVK schema.GroupVersionKind }

func (e *NotServedError) Error() string {
	return fmt.Sprintf("this cluster does not serve %s of %s: install that API, or turn off what needs it", e.GVK.Kind, e.GVK.GroupVersion())
}

// TerminatingError says that an object of the owner is being deleted; it is made anew when it is gone.
type TerminatingError struct{ Kind, Name string }

func (e *TerminatingError) Error() string {
	return fmt.Sprintf("%s %q is being deleted; it is made anew when it is gone", e.Kind, e.Name)
}

// Reason gives the reason of the Applied condition for an error of Apply.
func Reason(err error) string {
	var conflict *ConflictError
	var notServed *NotServedError
	switch {
	case errors.As(err, &notServed):
		return aiv1.ReasonAPINotServed
	case errors.As(err, &conflict):
		return aiv1.ReasonConflict
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota"):
		return aiv1.ReasonQuotaExceeded
	case apierrors.IsForbidden(err), isDenial(err):
		return aiv1.ReasonRefused
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return aiv1.ReasonInvalid
	default:
		return aiv1.ReasonApplyFailed
	}
}

// isDenial recognises the no of a webhook or an admission policy, which may carry any status code.
func isDenial(err error) bool {
	message := err.Error()
	return (strings.Contains(message, "admission webhook") && strings.Contains(message, "denied the request")) ||
		(strings.Contains(message, "AdmissionPolicy") && strings.Contains(message, "denied request"))
}

// IsTransient says whether an error of Apply is worth a quick retry, rather than one after a while: the API server
// failed, as opposed to having said no.
func IsTransient(err error) bool {
	var terminating *TerminatingError
	return Reason(err) == aiv1.ReasonApplyFailed && !errors.As(err, &terminating)
}
