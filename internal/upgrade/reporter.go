package upgrade

import (
	"context"
	"fmt"
	"os"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// nameVariable is where the Lifecycle Manager writes the name of the operator's OperatorCondition.
	nameVariable = "OPERATOR_CONDITION_NAME"
	// interval is how often the causes are asked. They look into the cache only, so asking costs no request.
	interval = 5 * time.Second

	// ReasonIdle says that nothing runs that an upgrade would hurt.
	ReasonIdle = "Idle"
)

// Cause says why the operator should not be replaced now, as a reason and a sentence. An empty reason means that it may be.
// The sentence must not change from one look to the next while the cause stays the same: each change is a write.
type Cause func(ctx context.Context, reader client.Reader) (reason, message string, err error)

// Add makes the leader report the first of the causes that holds. It does nothing where the Lifecycle Manager did not name
// an OperatorCondition.
func Add(mgr manager.Manager, causes ...Cause) error {
	if os.Getenv(nameVariable) == "" {
		return nil
	}
	scheme := runtime.NewScheme()
	if err := apiv2.AddToScheme(scheme); err != nil {
		return fmt.Errorf("add OperatorCondition to the scheme: %w", err)
	}
	// A client of its own: the manager's would watch all OperatorConditions, where the operator may only read its own.
	live, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return fmt.Errorf("make the client for the OperatorCondition: %w", err)
	}
	condition, err := conditions.InClusterFactory{Client: live}.NewCondition(apiv2.ConditionType(apiv2.Upgradeable))
	if err != nil {
		return fmt.Errorf("find the OperatorCondition: %w", err)
	}
	return mgr.Add(&reporter{reader: mgr.GetClient(), condition: condition, causes: causes, interval: interval})
}

// reporter is a manager.Runnable. It runs in the leader only: there is one OperatorCondition for all replicas.
type reporter struct {
	reader    client.Reader
	condition conditions.Condition
	causes    []Cause
	interval  time.Duration
	told      verdict
}

type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

// Start reports until the context ends.
func (r *reporter) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("upgrade")
	ticker := time.NewTicker(r.interval)
	defer ticker.Stop()
	for {
		if err := r.report(ctx); err != nil && ctx.Err() == nil {
			logger.Error(err, "Could not report whether the operator may be upgraded")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// report writes the verdict if it is not what was told last.
func (r *reporter) report(ctx context.Context) error {
	now, err := r.judge(ctx)
	if err != nil || now == r.told {
		return err
	}
	// It is read and then updated, and the Lifecycle Manager writes it too.
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		return r.condition.Set(ctx, now.status, conditions.WithReason(now.reason), conditions.WithMessage(now.message))
	})
	if apierrors.IsNotFound(err) { // an older Lifecycle Manager has none
		err = nil
	}
	if err != nil {
		return fmt.Errorf("write the OperatorCondition: %w", err)
	}
	r.told = now
	return nil
}

func (r *reporter) judge(ctx context.Context) (verdict, error) {
	for _, cause := range r.causes {
		reason, message, err := cause(ctx, r.reader)
		if err != nil {
			return verdict{}, err
		}
		if reason != "" {
			return verdict{metav1.ConditionFalse, reason, message}, nil
		}
	}
	return verdict{metav1.ConditionTrue, ReasonIdle, "Nothing runs that an upgrade would hurt."}, nil
}
