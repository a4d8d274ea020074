package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// Explain puts an error into a sentence that names what to do. What it does not know it returns as it is.
func Explain(err error) error {
	var status apierrors.APIStatus
	var unreachable *url.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case clientcmd.IsEmptyConfig(err):
		return sentence(err, "no cluster is configured: set KUBECONFIG, or name a file with --kubeconfig")
	case meta.IsNoMatchError(err), isMissingResource(err):
		return sentence(err, "the cluster does not know the kinds of %s: install the operator there first, or choose another cluster "+
			"with --context", aiv1.Group)
	case apierrors.IsForbidden(err) && errors.As(err, &status):
		return sentence(err, "you may not do that: %s. Ask for that permission, or use another account with --context or --as",
			strings.TrimSpace(status.Status().Message))
	case apierrors.IsUnauthorized(err):
		return sentence(err, "the cluster does not accept your credentials: log in anew, or choose another context with --context")
	case errors.As(err, &unreachable):
		return sentence(err, "the cluster at %s does not answer (%s): check that it runs and that --context is the one you mean",
			host(unreachable), cause(unreachable.Err))
	}
	return err
}

// explained keeps the cause for errors.Is and tells the sentence.
type explained struct {
	text  string
	cause error
}

func sentence(cause error, format string, args ...any) error {
	return &explained{text: fmt.Sprintf(format, args...), cause: cause}
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.cause }

// isMissingResource tells a path that the API server does not serve from an object that does not exist.
func isMissingResource(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	if details == nil {
		return true
	}
	for _, c := range details.Causes {
		if c.Type == metav1.CauseTypeUnexpectedServerResponse {
			return true
		}
	}
	return details.Name == "" && details.Kind == ""
}

func host(err *url.Error) string {
	if parsed, parseErr := url.Parse(err.URL); parseErr == nil && parsed.Host != "" {
		return parsed.Scheme + "://" + parsed.Host
	}
	return err.URL
}

// cause leaves out the addresses that the sentence has already.
func cause(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}
