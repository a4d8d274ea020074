// Package tracing makes a span of every reconcile, of each of its steps, and of each request to the API server or to a model
// registry that a step sends. It is off unless the standard OTEL_* environment variables ask for it, and then costs nothing. A
// span tells what was done and how it went; it must not carry the content of an object, nor a credential.
package tracing

import (
	"context"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

const scopeName = "github.com/aimodel-operator/aimodel-operator"

// The attributes of spans.
const (
	attrKind        = attribute.Key("aimodel_operator.kind")
	attrNamespace   = attribute.Key("k8s.namespace.name")
	attrName        = attribute.Key("aimodel_operator.name")
	attrReconcileID = attribute.Key("aimodel_operator.reconcile_id")
	attrOutcome     = attribute.Key("aimodel_operator.outcome")
	attrReady       = attribute.Key("aimodel_operator.ready")
	attrRegistered  = attribute.Key("aimodel_operator.registered")
	attrReason      = attribute.Key("aimodel_operator.reason")
)

// maxError is how much of the text of an error a span carries.
const maxError = 1024

// tracer is nil while tracing is off.
var tracer atomic.Pointer[trace.Tracer]

// Use makes the provider's tracer make the spans from now on; without a provider tracing is off.
func Use(provider trace.TracerProvider) {
	if provider == nil {
		tracer.Store(nil)
		return
	}
	made := provider.Tracer(scopeName)
	tracer.Store(&made)
}

// Span is a span, or nothing at all while tracing is off. End it exactly once.
type Span struct{ span trace.Span }

// Reconcile begins the span of one reconcile of an object.
func Reconcile(ctx context.Context, kind string, object types.NamespacedName) (context.Context, Span) {
	return ReconcilePart(ctx, kind, "", object)
}

// ReconcilePart begins the span of one reconcile of a part of an object, by a controller that sees to nothing else of it.
func ReconcilePart(ctx context.Context, kind, part string, object types.NamespacedName) (context.Context, Span) {
	on := tracer.Load()
	if on == nil {
		return ctx, Span{}
	}
	name := "reconcile " + kind
	if part != "" {
		name += " " + part
	}
	ctx, span := (*on).Start(ctx, name, trace.WithAttributes(
		attrKind.String(kind), attrNamespace.String(object.Namespace), attrName.String(object.Name),
		// Every line that a reconcile logs has it too.
		attrReconcileID.String(string(controller.ReconcileIDFromContext(ctx)))))
	return ctx, Span{span}
}

// Step begins the span of a step of the reconcile whose context it is given.
func Step(ctx context.Context, name string) (context.Context, Span) {
	on := tracer.Load()
	if on == nil {
		return ctx, Span{}
	}
	ctx, span := (*on).Start(ctx, name)
	return ctx, Span{span}
}

// Ready adds what the Ready condition of the object says after the reconcile.
func (s Span) Ready(status, reason string) {
	if s.span != nil {
		s.span.SetAttributes(attrReady.String(status), attrReason.String(reason))
	}
}

// Registered adds what the Registered condition of the object says after the reconcile, and the reason of what is not as it shall be.
func (s Span) Registered(status, reason string) {
	if s.span != nil {
		s.span.SetAttributes(attrRegistered.String(status), attrReason.String(reason))
	}
}

// Outcomes of a reconcile that is no error; the class of an error is the outcome of one that is. OutcomeBusy is that of a step.
const (
	OutcomeOK = "ok"
	// OutcomeGone: there is no such object.
	OutcomeGone = "gone"
	// OutcomeDeleted: the object is on its way out, and nothing keeps it.
	OutcomeDeleted = "deleted"
	// OutcomeOvertaken: somebody else wrote to the object meanwhile, or the copy of it was old.
	OutcomeOvertaken = "overtaken"
	// OutcomeContinued: the pods were started; the rest follows in another reconcile.
	OutcomeContinued = "continued"
	// OutcomeBusy: it was not its turn with the registry.
	OutcomeBusy = "busy"
)

// Outcome adds in a word how the reconcile, or a step, went.
func (s Span) Outcome(outcome string) {
	if s.span != nil {
		s.span.SetAttributes(attrOutcome.String(outcome))
	}
}

// End ends the span. An error makes it one that failed.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.span.SetStatus(codes.Error, bounded(err.Error()))
	}
	s.span.End()
}

func bounded(text string) string {
	if len(text) <= maxError {
		return text
	}
	return strings.ToValidUTF8(text[:maxError], "") + "..."
}
