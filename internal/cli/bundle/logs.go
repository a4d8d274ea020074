package bundle

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
)

// podLogs gathers the logs of pods, those that are not ready first.
func (c *Collector) podLogs(ctx context.Context, found []unstructured.Unstructured, where ...string) error {
	if c.Logs == nil {
		return nil
	}
	pods := make([]corev1.Pod, len(found))
	for i := range found {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found[i].Object, &pods[i]); err != nil {
			return fmt.Errorf("read pod %q: %w", found[i].GetName(), err)
		}
	}
	slices.SortStableFunc(pods, func(a, b corev1.Pod) int {
		switch readyA, readyB := access.PodReady(&a), access.PodReady(&b); {
		case readyA == readyB:
			return strings.Compare(a.Name, b.Name)
		case readyB:
			return -1
		}
		return 1
	})
	for i := range pods {
		for _, status := range slices.Concat(pods[i].Status.InitContainerStatuses, pods[i].Status.ContainerStatuses) {
			if err := c.containerLogs(ctx, &pods[i], &status, where); err != nil {
				return err
			}
		}
	}
	return nil
}

// containerLogs gathers the log of a container, and that of its run before.
func (c *Collector) containerLogs(ctx context.Context, pod *corev1.Pod, status *corev1.ContainerStatus, where []string) error {
	for _, run := range []struct {
		suffix   string
		previous bool
		exists   bool
	}{
		{".log", false, status.State.Waiting == nil},
		{".previous.log", true, status.LastTerminationState.Terminated != nil},
	} {
		if !run.exists {
			continue
		}
		what := pod.Namespace + "/" + pod.Name + " " + status.Name + run.suffix
		if c.logs == maxLogs {
			c.missing = append(c.missing, fmt.Sprintf("the log %s: %d logs are enough", what, maxLogs))
			continue
		}
		wanted := &corev1.PodLogOptions{Container: status.Name, Previous: run.previous, TailLines: &c.Tail, Timestamps: true}
		text, err := c.readLog(ctx, pod, wanted)
		if err != nil {
			c.miss("the log "+what, err)
			continue
		}
		c.logs++
		if err := c.archive.add(redactText(text), append(slices.Clone(where), pod.Name+"."+status.Name+run.suffix)...); err != nil {
			return err
		}
	}
	return nil
}

func (c *Collector) readLog(ctx context.Context, pod *corev1.Pod, options *corev1.PodLogOptions) (string, error) {
	// One node that does not answer must not hold up the rest.
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	stream, err := c.Logs.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = stream.Close() }()
	data, err := io.ReadAll(io.LimitReader(stream, maxLogBytes))
	if err != nil {
		return "", fmt.Errorf("read the log: %w", err)
	}
	return string(data), nil
}
