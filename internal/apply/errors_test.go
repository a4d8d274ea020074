package apply

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

var deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

func status(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}

func TestReasonAndRetryOfAnError(t *testing.T) {
	webhook := `admission webhook "gatekeeper.example.com" denied the request: no GPUs on Fridays`
	policy := `deployments.apps "llama" is forbidden: ValidatingAdmissionPolicy 'gpus' with binding 'all' denied request: no GPUs`
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for name, tc := range map[string]struct {
		err           error
		wantReason    string
		wantTransient bool
	}{
		"the name belongs to somebody else": {&ConflictError{Kind: "Service", Name: "llama"}, aiv1.ReasonConflict, false},
		"the object is being deleted":       {&TerminatingError{Kind: "Service", Name: "llama"}, aiv1.ReasonApplyFailed, false},
		"the cluster lacks the API":         {&NotServedError{GVK: schema.GroupVersionKind{Kind: "PodMonitor"}}, aiv1.ReasonAPINotServed, false},
		"a quota is used up": {
			apierrors.NewForbidden(deployments, "llama", errors.New("exceeded quota: objects, requested: count/deployments.apps=1, used: 4, limited: 4")),
			aiv1.ReasonQuotaExceeded, false},
		"RBAC forbids it": {
			apierrors.NewForbidden(deployments, "llama", errors.New(`User "system:serviceaccount:a:b" cannot create resource`)),
			aiv1.ReasonRefused, false},
		"the namespace goes away": {
			apierrors.NewForbidden(deployments, "llama", errors.New("unable to create new content in namespace a because it is being terminated")),
			aiv1.ReasonRefused, false},
		"a webhook says no with 403":   {status(403, metav1.StatusReasonForbidden, webhook), aiv1.ReasonRefused, false},
		"a webhook says no with 400":   {status(400, metav1.StatusReasonBadRequest, webhook), aiv1.ReasonRefused, false},
		"a webhook says no with 422":   {status(422, metav1.StatusReasonInvalid, webhook), aiv1.ReasonRefused, false},
		"a webhook says no with 418":   {status(418, "", webhook), aiv1.ReasonRefused, false},
		"a webhook says no with 500":   {status(500, metav1.StatusReasonInternalError, webhook), aiv1.ReasonRefused, false},
		"a policy says no with 422":    {status(422, metav1.StatusReasonInvalid, policy), aiv1.ReasonRefused, false},
		"a webhook cannot be reached":  {apierrors.NewInternalError(errors.New(`failed calling webhook "gatekeeper.example.com": context deadline exceeded`)), aiv1.ReasonApplyFailed, true},
		"validation fails":             {apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "llama", field.ErrorList{field.Required(field.NewPath("spec"), "")}), aiv1.ReasonInvalid, false},
		"the request cannot be read":   {apierrors.NewBadRequest("strict decoding error: unknown field"), aiv1.ReasonInvalid, false},
		"somebody else wrote first":    {apierrors.NewConflict(deployments, "llama", errors.New("the object has been modified")), aiv1.ReasonApplyFailed, true},
		"the server is slow":           {apierrors.NewServerTimeout(deployments, "patch", 1), aiv1.ReasonApplyFailed, true},
		"the request timed out":        {apierrors.NewTimeoutError("request did not complete", 1), aiv1.ReasonApplyFailed, true},
		"too many requests":            {apierrors.NewTooManyRequests("slow down", 1), aiv1.ReasonApplyFailed, true},
		"the server is not available":  {apierrors.NewServiceUnavailable("etcd is away"), aiv1.ReasonApplyFailed, true},
		"the object is gone meanwhile": {apierrors.NewNotFound(deployments, "llama"), aiv1.ReasonApplyFailed, true},
		"nobody answers":               {&url.Error{Op: "Patch", URL: "https://10.0.0.1:443", Err: refused}, aiv1.ReasonApplyFailed, true},
		"the time is up":               {context.DeadlineExceeded, aiv1.ReasonApplyFailed, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{tc.err, fmt.Errorf("apply Deployment %q: %w", "llama", tc.err)} {
				if got := Reason(err); got != tc.wantReason {
					t.Errorf("Reason(%v) = %s, want %s", err, got, tc.wantReason)
				}
				if got := IsTransient(err); got != tc.wantTransient {
					t.Errorf("IsTransient(%v) = %v, want %v", err, got, tc.wantTransient)
				}
			}
		})
	}
}

func TestAConflictNamesTheHolder(t *testing.T) {
	for name, tc := range map[string]struct {
		owners []metav1.OwnerReference
		want   string
	}{
		"nobody": {nil, `Service "llama" exists in namespace "team-a" and is not controlled by this operator; it is left as it is`},
		"a controller": {[]metav1.OwnerReference{{Kind: "HelmRelease", Name: "web", Controller: new(true)}},
			`Service "llama" exists in namespace "team-a" and is controlled by HelmRelease "web"; it is left as it is`},
		"an owner that is not in charge": {[]metav1.OwnerReference{{Kind: "HelmRelease", Name: "web"}},
			`Service "llama" exists in namespace "team-a" and is not controlled by this operator; it is left as it is`},
	} {
		t.Run(name, func(t *testing.T) {
			live := &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: tc.owners}}
			err := &ConflictError{Kind: "Service", Namespace: "team-a", Name: "llama", Holder: holder(live)}
			if err.Error() != tc.want {
				t.Errorf("got  %s\nwant %s", err, tc.want)
			}
		})
	}
}
