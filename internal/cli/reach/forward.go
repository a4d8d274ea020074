package reach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	streamhttp "k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
)

// again is the pause between two looks for a pod that can take over.
const again = time.Second

// Forwarder leads a local port to a ready pod of an object, and to another one when that goes.
type Forwarder struct {
	Config *rest.Config
	Pods   kubernetes.Interface
	Reader client.Reader
	// Opened is told the local port and the pod, each time that the way to a pod is open.
	Opened func(port uint16, pod string)
	// Lost is told when the pod is gone and another one is looked for.
	Lost func(pod string)
}

// Run forwards until the context ends. The local port is one that is free when it is 0. An error is one of the first pod;
// later ones are answered by another try.
func (f *Forwarder) Run(ctx context.Context, object access.Object, local uint16) error {
	pod, err := f.readyPod(ctx, object)
	if err != nil {
		return err
	}
	opened := false
	for {
		err := f.forward(ctx, pod, &local, &opened)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the user ended it, and what broke with that is no error
		}
		if !opened {
			return fmt.Errorf("forward a port to pod %s: %w", pod.Name, err)
		}
		f.Lost(pod.Name)
		err = wait.PollUntilContextCancel(ctx, again, false, func(ctx context.Context) (bool, error) {
			next, err := f.readyPod(ctx, object)
			pod = next
			return err == nil, nil
		})
		if err != nil {
			return nil //nolint:nilerr // only the end of the context ends the wait
		}
	}
}

func (f *Forwarder) readyPod(ctx context.Context, object access.Object) (*corev1.Pod, error) {
	pods, err := Pods(ctx, f.Reader, object)
	if err != nil {
		return nil, err
	}
	for i := range pods {
		if access.PodReady(&pods[i]) {
			return &pods[i], nil
		}
	}
	return nil, &NoPodsError{Object: object, Lack: "pod that is ready"}
}

func (f *Forwarder) forward(ctx context.Context, pod *corev1.Pod, local *uint16, opened *bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	remote, err := serverPort(pod)
	if err != nil {
		return err
	}
	dialer, err := f.dialer(pod)
	if err != nil {
		return err
	}
	ready := make(chan struct{})
	forwarder, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"127.0.0.1"},
		[]string{fmt.Sprintf("%d:%d", *local, remote)}, ready, io.Discard, io.Discard)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case err := <-ended:
		return err
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil || len(ports) == 0 {
		return errors.Join(errors.New("no local port was opened"), err)
	}
	*local, *opened = ports[0].Local, true
	f.Opened(*local, pod.Name)
	return <-ended
}

// dialer reaches a pod over a WebSocket, or over SPDY where the API server or a proxy cannot do that.
func (f *Forwarder) dialer(pod *corev1.Pod) (streamhttp.Dialer, error) {
	url := f.Pods.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(f.Config)
	if err != nil {
		return nil, err
	}
	websocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, f.Config)
	if err != nil {
		return nil, err
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	return portforward.NewFallbackDialerForStreaming(websocket, old, func(err error) bool {
		return streamhttp.IsUpgradeFailure(err) || streamhttp.IsHTTPSProxyError(err)
	}), nil
}

// serverPort is the port that the Service leads to: the one called http.
func serverPort(pod *corev1.Pod) (int32, error) {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == "http" {
				return port.ContainerPort, nil
			}
		}
	}
	return 0, errors.New("it has no port called http")
}
