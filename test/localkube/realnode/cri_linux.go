package realnode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// dial connects to the node's containerd over its socket, which only root can open.
func dial(id string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix://"+Socket(id),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second}))
}

func criAnswers(ctx context.Context, id string) error {
	if _, err := os.Stat(Socket(id)); err != nil {
		return err // the client library would log every attempt
	}
	connection, err := dial(id)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	status, err := cri.NewRuntimeServiceClient(connection).Status(ctx, &cri.StatusRequest{})
	if err != nil {
		return err
	}
	for _, condition := range status.GetStatus().GetConditions() {
		// There are others, such as one about deprecated features, that stand in nobody's way.
		needed := condition.GetType() == cri.RuntimeReady || condition.GetType() == cri.NetworkReady
		if needed && !condition.GetStatus() {
			return fmt.Errorf("%s: %s", condition.GetReason(), condition.GetMessage())
		}
	}
	return nil
}

// removeSandboxes kills every pod's containers and returns their network addresses.
func removeSandboxes(ctx context.Context, id string) error {
	connection, err := dial(id)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	client := cri.NewRuntimeServiceClient(connection)
	list, err := client.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return err
	}
	var problems []error
	for _, sandbox := range list.GetItems() {
		if _, err := client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: sandbox.GetId()}); err != nil {
			problems = append(problems, err)
			continue
		}
		if _, err := client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: sandbox.GetId()}); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
