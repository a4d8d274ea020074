package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

const (
	poll = 500 * time.Millisecond
	// cleanup is how long deleting what a test made may take, also after the test was interrupted.
	cleanup = 30 * time.Second
	// missingImage is under a name that is reserved for what does not exist.
	missingImage = "registry.invalid/models/missing:v0"
)

// imageReasons are what a node can find about missingImage, depending on how the cluster reaches registries.
var imageReasons = []string{aiv1.ReasonRegistryUnreachable, aiv1.ReasonImageNotFound, aiv1.ReasonImagePull, aiv1.ReasonImageUnauthorized}

// suite has the tests by name.
var suite = map[string]func(context.Context, *check) error{
	"sample-available":    sampleAvailable,
	"scale-subresource":   scaleSubresource,
	"broken-image-reason": brokenImageReason,
	"registry-cleanup":    registryCleanup,
}

// check is what a test works with.
type check struct {
	client         client.Client
	server         string // the address of the API server
	namespace      string
	image          string
	timeout        time.Duration
	podAnnotations map[string]string
	samples        samples

	// story is what the test saw, for the log.
	story []string
}

// sampleAvailable holds that every sample AIModel of the bundle becomes Ready.
func sampleAvailable(ctx context.Context, c *check) error {
	var failed []error
	for i := range c.samples {
		failed = append(failed, c.with(ctx, c.prepared(c.samples[i].DeepCopy()), func(model owner) error {
			return c.expectReady(ctx, model, expectation{status: metav1.ConditionTrue})
		}))
	}
	return errors.Join(failed...)
}

// scaleSubresource holds that a model has the pods that its scale subresource asks for, up and down.
func scaleSubresource(ctx context.Context, c *check) error {
	sample, err := c.samples.served()
	if err != nil {
		return err
	}
	return c.with(ctx, c.prepared(sample), func(model owner) error {
		for _, replicas := range []int32{3, 1, 0} {
			scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
			if err := c.client.SubResource("scale").Update(ctx, model, client.WithSubResourceBody(scale)); err != nil {
				return fmt.Errorf("scale to %d: %w", replicas, err)
			}
			if err := c.expectReplicas(ctx, model, replicas); err != nil {
				return err
			}
		}
		return nil
	})
}

// brokenImageReason holds that a service whose image cannot be pulled says so, by reason and with the name of the image.
func brokenImageReason(ctx context.Context, c *check) error {
	sample, err := c.samples.served()
	if err != nil {
		return err
	}
	// An entry of the catalogue, which the service refers to.
	catalogued := c.prepared(sample)
	catalogued.Spec = aiv1.AIModelSpec{ModelName: sample.Spec.ModelName, ModelVersion: sample.Spec.ModelVersion}
	return c.with(ctx, catalogued, func(model owner) error {
		service := &aiv1.InferenceService{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, GenerateName: "scorecard-broken-"},
			Spec: aiv1.InferenceServiceSpec{
				ModelRef: aiv1.ModelReference{Name: model.GetName()},
				Runtime:  aiv1.Runtime{Name: aiv1.RuntimeCustom, Image: missingImage},
			},
		}
		if len(c.podAnnotations) > 0 {
			raw, err := json.Marshal(map[string]any{"podAnnotations": c.podAnnotations})
			if err != nil {
				return fmt.Errorf("write the pods' annotations: %w", err)
			}
			service.Spec.ChartValues = &runtime.RawExtension{Raw: raw}
		}
		return c.with(ctx, service, func(broken owner) error {
			return c.expectReady(ctx, broken, expectation{status: metav1.ConditionFalse, reasons: imageReasons, word: missingImage})
		})
	})
}

// owner is either of the operator's kinds.
type owner interface {
	client.Object
	GetConditions() []metav1.Condition
}

// prepared makes a sample ready to be created beside others.
func (c *check) prepared(sample *aiv1.AIModel) *aiv1.AIModel {
	sample.ObjectMeta = metav1.ObjectMeta{Namespace: c.namespace, GenerateName: "scorecard-" + sample.Name + "-"}
	if sample.Spec.Image != "" && c.image != "" {
		sample.Spec.Image = c.image
	}
	return sample
}

// with creates an object for as long as use takes, and waits until it has gone again.
func (c *check) with(ctx context.Context, object owner, use func(owner) error) error {
	if err := c.client.Create(ctx, object); err != nil {
		return fmt.Errorf("create %T: %w", object, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
		defer cancel()
		err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			err := c.client.Delete(ctx, object)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		if err != nil {
			c.tell("%s could not be deleted: %v", object.GetName(), err)
		}
	}()
	return use(object)
}

// expectation is what the condition Ready of the current generation should say. Any reason will do where none is given.
type expectation struct {
	status  metav1.ConditionStatus
	reasons []string
	word    string
}

func (e *expectation) meets(ready *metav1.Condition, generation int64) bool {
	return ready.ObservedGeneration == generation && ready.Status == e.status &&
		(len(e.reasons) == 0 || slices.Contains(e.reasons, ready.Reason)) && strings.Contains(ready.Message, e.word)
}

// expectReady waits until the condition Ready says what is expected.
func (c *check) expectReady(ctx context.Context, object owner, want expectation) error {
	saw := "it has no condition Ready: does the operator run, and work in this namespace?"
	err := c.until(ctx, func(ctx context.Context) (bool, error) {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return false, err
		}
		ready := meta.FindStatusCondition(object.GetConditions(), aiv1.ConditionReady)
		if ready == nil {
			return false, nil
		}
		saw = fmt.Sprintf("Ready is %s, %s: %s", ready.Status, ready.Reason, ready.Message)
		return want.meets(ready, object.GetGeneration()), nil
	})
	if err != nil {
		return fmt.Errorf("wait until Ready of %s is %s %v: %w; %s", object.GetName(), want.status, want.reasons, err, saw)
	}
	c.tell("%s: %s", object.GetName(), saw)
	return nil
}

// expectReplicas waits until a model has so many pods, all ready, by its own scale and by its Deployment.
func (c *check) expectReplicas(ctx context.Context, model owner, want int32) error {
	saw := ""
	err := c.until(ctx, func(ctx context.Context) (bool, error) {
		scale := &autoscalingv1.Scale{}
		if err := c.client.SubResource("scale").Get(ctx, model, scale); err != nil {
			return false, err
		}
		deployment := &appsv1.Deployment{}
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(model), deployment); apierrors.IsNotFound(err) {
			saw = "it has no Deployment"
			return false, nil
		} else if err != nil {
			return false, err
		}
		saw = fmt.Sprintf("its scale says %d, its Deployment has %d replicas, %d of them ready",
			scale.Status.Replicas, deployment.Status.Replicas, deployment.Status.ReadyReplicas)
		return scale.Status.Replicas == want && deployment.Status.Replicas == want && deployment.Status.ReadyReplicas == want, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s has %d replicas: %w; %s", model.GetName(), want, err, saw)
	}
	c.tell("%s asked for %d: %s", model.GetName(), want, saw)
	return nil
}

func (c *check) until(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, poll, c.timeout, true, done)
}

func (c *check) tell(format string, args ...any) {
	c.story = append(c.story, fmt.Sprintf(format, args...))
}
