package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
	aiv1alpha1 "github.com/aimodel-operator/aimodel-operator/api/v1alpha1"
)

// registryCleanup holds that a model is registered in an external registry, and that its deletion ends once the registry has
// been told, also if the registry is out of order at first. The registry is a webhook that the test itself answers.
func registryCleanup(ctx context.Context, c *check) error {
	receiver, address, err := c.receive(ctx)
	if err != nil {
		return err
	}
	defer receiver.stop()
	registry := &aiv1alpha1.ModelRegistry{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, GenerateName: "scorecard-registry-"},
		Spec:       aiv1alpha1.ModelRegistrySpec{Type: aiv1alpha1.RegistryWebhook, URL: address},
	}
	return c.with(ctx, registry, func(owner) error {
		model := &aiv1.AIModel{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, GenerateName: "scorecard-registered-"},
			Spec: aiv1.AIModelSpec{
				ModelName: "scorecard", ModelVersion: "1.0.0",
				Registry: &aiv1.Registry{
					RegistryRef:    &aiv1.RegistryReference{Name: registry.Name},
					DeletionPolicy: aiv1.DeletionDelete,
					// If the test fails, the model does not stay for ever.
					Cleanup: &aiv1.RegistryCleanup{Timeout: &metav1.Duration{Duration: c.timeout}},
				},
			},
		}
		return c.with(ctx, model, func(owner) error { return c.expectCleanup(ctx, model, receiver) })
	})
}

func (c *check) expectCleanup(ctx context.Context, model *aiv1.AIModel, receiver *receiver) error {
	saw := "it has no condition Registered: does the operator run, and work in this namespace?"
	err := c.until(ctx, func(ctx context.Context) (bool, error) {
		if err := c.client.Get(ctx, client.ObjectKeyFromObject(model), model); err != nil {
			return false, err
		}
		registered := meta.FindStatusCondition(model.Status.Conditions, aiv1.ConditionRegistered)
		if registered == nil {
			return false, nil
		}
		saw = fmt.Sprintf("Registered is %s, %s: %s", registered.Status, registered.Reason, registered.Message)
		return registered.Status == metav1.ConditionTrue && registered.ObservedGeneration == model.Generation, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s is registered: %w; %s", model.Name, err, saw)
	}
	if receiver.count(model, eventUpsert) == 0 {
		return fmt.Errorf("%s says that it is registered, and its registry was told nothing", model.Name)
	}
	c.tell("%s: %s", model.Name, saw)

	if err := c.client.Delete(ctx, model); err != nil {
		return fmt.Errorf("delete %s: %w", model.Name, err)
	}
	err = c.until(ctx, func(ctx context.Context) (bool, error) {
		err := c.client.Get(ctx, client.ObjectKeyFromObject(model), model)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("wait until %s is gone: %w; finalizers %v, %d deletions were sent to its registry",
			model.Name, err, model.Finalizers, receiver.count(model, eventDelete))
	}
	if sent := receiver.count(model, eventDelete); sent < 2 {
		return fmt.Errorf("%s is gone, and its registry was told so %d times: the first was refused, and there was no second", model.Name, sent)
	}
	c.tell("%s is gone, and its registry was told: the first time it answered 503, and was asked again", model.Name)
	return nil
}

// The types of events that a webhook gets.
const (
	eventUpsert = "com.example.ai.model.upsert"
	eventDelete = "com.example.ai.model.delete"
)

// receiver is a registry that takes every model. It is out of order when it is told of a deletion for the first time.
type receiver struct {
	server *http.Server

	mu   sync.Mutex
	seen map[string]int // by type and name of the model
}

// receive starts a receiver where the operator can reach it: at the address by which this program reaches the API server, which in
// a pod is that of the pod.
func (c *check) receive(ctx context.Context) (*receiver, string, error) {
	api, err := url.Parse(c.server)
	if err != nil {
		return nil, "", fmt.Errorf("read the address of the API server: %w", err)
	}
	port := api.Port()
	if port == "" {
		port = "443"
	}
	// Nothing is sent: it only chooses the address.
	route, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(api.Hostname(), port))
	if err != nil {
		return nil, "", fmt.Errorf("find the own address: %w", err)
	}
	own, _, err := net.SplitHostPort(route.LocalAddr().String())
	if closing := route.Close(); err != nil || closing != nil {
		return nil, "", fmt.Errorf("find the own address: %w, %w", err, closing)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(own, "0"))
	if err != nil {
		return nil, "", fmt.Errorf("listen for events of the operator: %w", err)
	}
	r := &receiver{seen: map[string]int{}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(listener) }() // it ends with stop
	return r, "http://" + listener.Addr().String() + "/events", nil
}

func (r *receiver) stop() { _ = r.server.Close() }

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	var event struct {
		Type string `json:"type"`
		Data struct {
			Owner struct {
				Name string `json:"name"`
			} `json:"owner"`
		} `json:"data"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, request.Body, 1<<20)).Decode(&event); err != nil {
		http.Error(w, "this is no event", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := event.Type + " " + event.Data.Owner.Name
	r.seen[key]++
	if event.Type == eventDelete && r.seen[key] == 1 {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// count tells how many events of a type were about a model.
func (r *receiver) count(model *aiv1.AIModel, kind string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[kind+" "+model.Name]
}
