package diagnose

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Names of probes, as the kubelet writes them.
const (
	startup   = "startup"
	liveness  = "liveness"
	readiness = "readiness"
)

// livenessFailing tells of a container that the kubelet killed. Its exit code would not say so.
func livenessFailing(c *container) *Finding {
	ended := c.ended()
	if ended == nil || !killedBy(c, ended, liveness) {
		return nil
	}
	return &Finding{
		Message:  fmt.Sprintf("container %q was killed because its liveness probe failed%s", c.status.Name, probeWords(c, liveness)),
		ExitCode: &ended.ExitCode,
	}
}

// startupFailing tells of a container that was killed for its startup probe or, before that, that has used up half of
// its time: to load a model takes long, and is no failure.
func startupFailing(c *container) *Finding {
	budget := startupBudget(c.spec)
	if ended := c.ended(); ended != nil {
		if killedBy(c, ended, startup) || outlivedBudget(ended, budget) {
			return &Finding{
				Message: fmt.Sprintf("container %q was killed because it did not pass its startup probe within %s%s",
					c.status.Name, budget, probeWords(c, startup)),
				ExitCode: &ended.ExitCode,
			}
		}
		return nil
	}
	started, starting := startingSince(c)
	if !starting || !c.facts.lasted(started, budget/2) {
		return nil
	}
	return &Finding{Message: fmt.Sprintf("container %q has not passed its startup probe for half of its time; "+
		"it has until %s, %s after its start, and is killed then%s",
		c.status.Name, started.Add(budget).UTC().Format(time.RFC3339), budget, probeWords(c, startup))}
}

// startingSince says since when a container runs whose startup probe has not passed yet.
func startingSince(c *container) (time.Time, bool) {
	running := c.status.State.Running
	if running == nil || c.spec.StartupProbe == nil || c.status.Started == nil || *c.status.Started {
		return time.Time{}, false
	}
	return running.StartedAt.Time, true
}

// startupBudget is how long the kubelet waits for the startup probe.
func startupBudget(spec *corev1.Container) time.Duration {
	probe := spec.StartupProbe
	if probe == nil {
		return 0
	}
	period, failures := max(probe.PeriodSeconds, 1), max(probe.FailureThreshold, 1)
	return time.Duration(probe.InitialDelaySeconds+period*failures) * time.Second
}

// outlivedBudget recognises a startup probe's kill without its event: the container was killed, and not before its time.
func outlivedBudget(ended *corev1.ContainerStateTerminated, budget time.Duration) bool {
	killed := ended.ExitCode == 137 || ended.ExitCode == 143
	return budget > 0 && killed && !ended.StartedAt.IsZero() && ended.FinishedAt.Sub(ended.StartedAt.Time) >= budget &&
		ended.FinishedAt.Sub(ended.StartedAt.Time) < budget+budget/4+time.Minute
}

// killedBy says whether the kubelet announced, during the container's last run, that it kills it for a probe.
func killedBy(c *container, ended *corev1.ContainerStateTerminated, probe string) bool {
	for _, event := range c.facts.Events[c.pod.UID] {
		if event.Reason == "Killing" && strings.Contains(event.Message, "failed "+probe+" probe") &&
			strings.HasPrefix(event.Message, "Container "+c.status.Name+" ") && !event.Last.Before(ended.StartedAt.Time) {
			return true
		}
	}
	return false
}

// readinessFailing tells of a container that runs and takes no traffic. The kubelet asks for readiness only after the startup
// probe has passed, so without its event nothing is told for long.
func readinessFailing(c *container) *Finding {
	since, unready := unreadySince(c)
	if !unready {
		return nil
	}
	words := probeWords(c, readiness)
	if (words != "" && c.facts.lasted(since, Patience)) || c.facts.lasted(since, memory) {
		return &Finding{Message: fmt.Sprintf("container %q runs, and its readiness probe fails%s", c.status.Name, words)}
	}
	return nil
}

// unreadySince says since when, at the latest, a container could be ready and is not.
func unreadySince(c *container) (time.Time, bool) {
	running := c.status.State.Running
	started := c.status.Started != nil && *c.status.Started
	if running == nil || c.init || c.status.Ready || (c.spec.StartupProbe != nil && !started) {
		return time.Time{}, false
	}
	since := running.StartedAt.Time
	if ready := podCondition(c.pod, corev1.PodReady); ready != nil && ready.LastTransitionTime.After(since) {
		since = ready.LastTransitionTime.Time
	}
	return since, true
}

var (
	probeHost = regexp.MustCompile(`https?://(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\])(:\d+)?`)
	probeDial = regexp.MustCompile(`dial (tcp|udp) (\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):(\d+)`)
)

// probeWords is what the kubelet says most often about a probe, without the address of the pod. Empty when it says nothing.
func probeWords(c *container, probe string) string {
	var best *Event
	events := c.facts.Events[c.pod.UID]
	for i := range events {
		event := &events[i]
		if event.Reason != "Unhealthy" || !strings.HasPrefix(strings.ToLower(event.Message), probe+" probe ") {
			continue
		}
		if best == nil || event.Count > best.Count || (event.Count == best.Count && event.Message < best.Message) {
			best = event
		}
	}
	if best == nil {
		return ""
	}
	_, words, ok := strings.Cut(best.Message, ": ")
	if !ok {
		return ""
	}
	words = probeDial.ReplaceAllString(probeHost.ReplaceAllString(words, ""), "dial $1 port $3")
	return ": " + stableFor(c.pod, words)
}
