package diagnose

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var (
	// moving is what differs from one try to the next: local ports and the ids of containers and requests.
	moving = regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):\d+->|\b[0-9a-f]{64}\b`)
	// identity is what differs from pod to pod.
	identity = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	// whichPod is where the kubelet tells which pod it speaks of.
	whichPod = regexp.MustCompile(` \(pod: "[^"]*", container: [^)]*\)`)
	space    = regexp.MustCompile(`\s+`)
	// secret is what a careless program may print of its credentials: tokens of well-known shapes, and the user of a URL.
	secret = regexp.MustCompile(`\b(hf|sk|ghp|gho|glpat|nvapi|AKIA|ASIA)[-_]?[A-Za-z0-9_-]{16,}|` +
		`(?i)\b(bearer|basic) [A-Za-z0-9._~+/-]{8,}=*|` +
		`[A-Za-z0-9_-]*(password|passwd|token|secret|api[-_]?key)(=["']?|["']: ?["'])[^\s"',;&]{4,}|://[^/\s@]+@`)
)

// maxMessage keeps a long story out of status; the pod's own events have the rest.
const maxMessage = 700

// stable takes out of somebody else's message what moves, and bounds its length.
func stable(message string) string {
	// Of a long one only the beginning is told, so that no more of it is looked through.
	if len(message) > 8*maxMessage {
		message = message[:8*maxMessage]
	}
	message = whichPod.ReplaceAllString(message, "")
	message = redact(message)
	message = identity.ReplaceAllString(message, "...")
	message = moving.ReplaceAllStringFunc(message, func(match string) string {
		if strings.HasSuffix(match, "->") {
			return "->"
		}
		return match[:12]
	})
	message = strings.ToValidUTF8(strings.TrimSpace(space.ReplaceAllString(message, " ")), "")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "..."
	}
	return message
}

// redact takes out of a message what looks like a secret: a last line of a log may quote anything.
func redact(message string) string {
	return secret.ReplaceAllStringFunc(message, func(match string) string {
		if strings.HasPrefix(match, "://") {
			return "://...@"
		}
		return "[redacted]"
	})
}

// stableFor is stable for a message that may name the pod.
func stableFor(pod *corev1.Pod, message string) string {
	for _, name := range []string{pod.Name, string(pod.UID)} {
		if name != "" {
			message = strings.ReplaceAll(message, name, "...")
		}
	}
	return stable(message)
}
