package reach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// maxLine is the longest piece of a line that is written at once.
const maxLine = 64 << 10

// LogOptions say what of the logs is wanted.
type LogOptions struct {
	// Previous is the run before the one that runs now.
	Previous bool
	// Tail is how many lines of each pod, from the end. Negative: all.
	Tail int64
	// Container is the container. Empty: the first, which is the server.
	Container string
}

// Logs writes the logs of pods: of one as they are, of several with the name of its pod before each line. Pods that have no log
// keep no other from being written; their errors are returned together.
func Logs(ctx context.Context, client kubernetes.Interface, pods []corev1.Pod, options LogOptions, out io.Writer) error {
	lines := &lineWriter{out: out}
	lines.many.Store(len(pods) > 1)
	failed := make([]error, len(pods))
	for i := range pods {
		failed[i] = readLog(ctx, client, &pods[i], options.forPod(&pods[i]), func(line []byte) error { return lines.write(pods[i].Name, line) })
	}
	return errors.Join(failed...)
}

// forPod says what is asked for of the log of a pod.
func (o LogOptions) forPod(pod *corev1.Pod) *corev1.PodLogOptions {
	wanted := &corev1.PodLogOptions{Container: o.Container, Previous: o.Previous}
	if wanted.Container == "" && len(pod.Spec.Containers) > 0 {
		wanted.Container = pod.Spec.Containers[0].Name
	}
	if o.Tail >= 0 {
		wanted.TailLines = &o.Tail
	}
	return wanted
}

func readLog(
	ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, wanted *corev1.PodLogOptions, write func([]byte) error,
) error {
	stream, err := client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, wanted).Stream(ctx)
	if err != nil {
		return fmt.Errorf("pod %s has no log: %w", pod.Name, err)
	}
	defer func() { _ = stream.Close() }()
	reader := bufio.NewReaderSize(stream, maxLine)
	for {
		line, err := reader.ReadSlice('\n')
		if len(line) > 0 {
			if writeErr := write(line); writeErr != nil {
				return writeErr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return fmt.Errorf("read the log of pod %s: %w", pod.Name, err)
		}
	}
}

// lineWriter keeps the lines of several pods apart.
type lineWriter struct {
	out io.Writer
	// many says that there is more than one pod.
	many atomic.Bool

	mu sync.Mutex
}

func (w *lineWriter) write(pod string, line []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := string(line)
	if w.many.Load() {
		text = "[" + pod + "] " + text
		if text[len(text)-1] != '\n' {
			text += "\n" // or the next pod's line would go on in this one
		}
	}
	_, err := io.WriteString(w.out, text)
	return err
}
