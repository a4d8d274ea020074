package diagnose

import (
	"fmt"
	"regexp"
	"strings"

	aiv1 "github.com/aimodel-operator/aimodel-operator/api/v1"
)

// pullReasons are those of a container that waits for its image.
var pullReasons = map[string]bool{
	"ErrImagePull": true, "ImagePullBackOff": true, "ImageInspectError": true, "ErrImageNeverPull": true,
	"RegistryUnavailable": true, "SignatureValidationFailed": true,
}

// pullCauses tells causes of a failed pull by words that container runtimes and registries use. The first match counts: a
// registry that refuses says "not found" of what it may not show, and a timeout may quote anything.
var pullCauses = []struct {
	reason string
	words  *regexp.Regexp
}{
	{aiv1.ReasonImagePlatformMismatch, regexp.MustCompile(
		`(?i)no match(ing manifest)? for |exec format error|does not match the specified platform`)},
	{aiv1.ReasonRegistryUnreachable, regexp.MustCompile(`(?i)dial tcp|dial udp|no such host|i/o timeout|deadline exceeded|` +
		`connection (refused|reset)|tls handshake|x509|registry is unavailable|server misbehaving|toomanyrequests|too many requests|` +
		`\b(429|5\d\d) [A-Z]|unexpected EOF|server gave HTTP response to HTTPS client`)},
	{aiv1.ReasonImageUnauthorized, regexp.MustCompile(`(?i)unauthorized|authorization failed|authentication required|access denied|` +
		`insufficient_scope|no basic auth credentials|\b(401|403)\b|forbidden|denied: `)},
	{aiv1.ReasonImageNotFound, regexp.MustCompile(
		`(?i)not found|manifest unknown|name unknown|\b404\b|does not exist|is not present with pull policy`)},
}

// pullFails makes a detector of pulls that fail for the cause that has this reason; for ReasonImagePull, for any other.
func pullFails(reason string) func(*container) *Finding {
	return func(c *container) *Finding {
		waits, message := c.waits()
		if !pullReasons[waits] || pullCause(waits, message) != reason {
			return nil
		}
		return &Finding{Message: pullMessage(c, "cannot be pulled", message)}
	}
}

func pullCause(waits, message string) string {
	if waits == "RegistryUnavailable" {
		return aiv1.ReasonRegistryUnreachable
	}
	// The image's own name may have any word in it.
	cause := quoted.ReplaceAllString(backOff.ReplaceAllString(message, ""), "")
	for _, known := range pullCauses {
		if known.words.MatchString(cause) {
			return known.reason
		}
	}
	return aiv1.ReasonImagePull
}

var (
	// backOff is the kubelet's frame around the cause of a failed pull while it waits for the next.
	backOff = regexp.MustCompile(`^Back-off pulling image "[^"]*"(: \w+: )?`)
	quoted  = regexp.MustCompile(`"[^"]*"`)
)

func invalidImageName(c *container) *Finding {
	if waits, message := c.waits(); waits == "InvalidImageName" {
		return &Finding{Message: pullMessage(c, "has an invalid name", message)}
	}
	return nil
}

// pullMessage names the image as the user wrote it, and the cause without the kubelet's frame around it: that frame
// changes between a failed pull and the pause before the next.
func pullMessage(c *container, what, message string) string {
	image := c.spec.Image
	if image == "" {
		image = c.status.Image
	}
	text := fmt.Sprintf("image %q %s", image, what)
	if cause := backOff.ReplaceAllString(message, ""); cause != "" {
		text += ": " + stableFor(c.pod, cause)
	}
	return text
}

// wrongPlatform tells of an image that was pulled, and whose program the node's processor does not know.
func wrongPlatform(c *container) *Finding {
	if ended := c.ended(); ended != nil && strings.Contains(ended.Message, "exec format error") {
		return &Finding{
			Message:  fmt.Sprintf("image %q is made for another processor than that of its node: %s", c.spec.Image, lastLine(c.pod, ended.Message)),
			ExitCode: &ended.ExitCode,
		}
	}
	return pullFails(aiv1.ReasonImagePlatformMismatch)(c)
}
