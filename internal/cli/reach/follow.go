package reach

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/aimodel-operator/aimodel-operator/internal/cli/access"
)

// Follower writes the logs of all pods that serve an object, also of those that come later: by a rollout, by an autoscaler, in the
// place of one that was lost. A container that is started again is followed on, without a line missing or said twice.
type Follower struct {
	Client kubernetes.Interface
	Reader client.Reader
	Out    io.Writer
	// Told is called with what happens to pods, one call at a time: that they come and go.
	Told func(format string, args ...any)

	telling sync.Mutex
}

func (f *Follower) tell(format string, args ...any) {
	f.telling.Lock()
	defer f.telling.Unlock()
	f.Told(format, args...)
}

// Run follows until the context ends, or until the object is deleted and its pods are gone.
func (f *Follower) Run(ctx context.Context, object access.Object, options LogOptions) error {
	lines := &lineWriter{out: f.Out}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	known := map[types.UID]bool{}
	lost := false
	for first := true; ; first = false {
		pods, err := Pods(ctx, f.Reader, object)
		if first && err != nil {
			return err
		}
		f.tellOfList(err, lost, first && len(pods) == 0)
		lost = err != nil
		for i := range pods {
			if known[pods[i].UID] {
				continue
			}
			known[pods[i].UID] = true
			lines.many.Store(len(known) > 1)
			if !first {
				f.tell("pod %s is new", pods[i].Name)
			}
			running.Go(func() { stopIf(stop, f.follow(ctx, &pods[i], options, lines)) })
		}
		if err == nil && len(pods) == 0 && f.deleted(ctx, object) {
			return nil
		}
		select {
		case <-ctx.Done():
			return outputError(ctx)
		case <-time.After(again):
		}
	}
}

// tellOfList tells that the pods cannot be listed, unless that is known, or that there are none yet.
func (f *Follower) tellOfList(err error, known, none bool) {
	switch {
	case err != nil && !known && !errors.Is(err, context.Canceled):
		f.tell("the pods cannot be listed, and this goes on with those that are known: %v", err)
	case none:
		f.tell("there are no pods yet; waiting for the first")
	}
}

// stopIf ends everything when nothing can be written any more.
func stopIf(stop context.CancelCauseFunc, err error) {
	if err != nil {
		stop(err)
	}
}

// outputError is what ended the context, if it was not who waits for the result.
func outputError(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() { //nolint:errorlint // the very same: nobody gave a cause
		return cause
	}
	return nil
}

func (f *Follower) deleted(ctx context.Context, object access.Object) bool {
	found, ok := object.DeepCopyObject().(access.Object)
	return ok && apierrors.IsNotFound(f.Reader.Get(ctx, client.ObjectKeyFromObject(object), found))
}

// follow follows one pod until it is over. It returns an error only when nothing can be written.
func (f *Follower) follow(ctx context.Context, pod *corev1.Pod, options LogOptions, lines *lineWriter) error {
	wanted := options.forPod(pod)
	wanted.Follow, wanted.Timestamps = true, true
	var writeErr error
	var last time.Time
	told := false
	for {
		before := last
		err := readLog(ctx, f.Client, pod, wanted, func(line []byte) error {
			at, text := timestamped(line)
			if !at.IsZero() {
				if !at.After(before) {
					return nil // it was written before the log broke off
				}
				last = at
			}
			writeErr = lines.write(pod.Name, text)
			return writeErr
		})
		switch {
		case writeErr != nil:
			return writeErr
		case ctx.Err() != nil:
			return nil //nolint:nilerr // whoever follows ended it
		case apierrors.IsForbidden(err):
			f.tell("%v", err)
			return nil
		case err != nil && !told && !apierrors.IsNotFound(err):
			f.tell("%v", err)
		}
		told = err != nil
		if f.over(ctx, pod) {
			f.tell("pod %s is over", pod.Name)
			return nil
		}
		if !last.IsZero() {
			// Seconds are all that can be asked for; what was seen of the second is left out above.
			wanted.SinceTime, wanted.TailLines = &metav1.Time{Time: last.Truncate(time.Second)}, nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
		}
	}
}

// over says whether nothing more will come of a pod. While nobody can say, it may.
func (f *Follower) over(ctx context.Context, pod *corev1.Pod) bool {
	now := &corev1.Pod{}
	err := f.Reader.Get(ctx, client.ObjectKeyFromObject(pod), now)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	return now.UID != pod.UID || now.Status.Phase == corev1.PodSucceeded || now.Status.Phase == corev1.PodFailed
}

// timestamped takes the time off a line. A line without one, such as the rest of a long one, has the zero time.
func timestamped(line []byte) (time.Time, []byte) {
	stamp, text, found := bytes.Cut(line, []byte(" "))
	if !found {
		return time.Time{}, line
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return time.Time{}, line
	}
	return at, text
}
