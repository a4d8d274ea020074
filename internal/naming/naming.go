// Package naming gives the names of children and the values of labels. They are valid for every legal name of an
// owner and differ wherever the owners differ. It must not depend on anything but the owner's kind and name.
package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	// maxName is the longest name of a child. Services and label values stop at 63; the pods of a Deployment add
	// their own suffix, which the API server shortens by itself.
	maxName = 63
	hashLen = 10

	// serviceSuffix ends the name of every child of an InferenceService, so that an AIModel and an InferenceService
	// of one name never share a Deployment.
	serviceSuffix = "-server"
)

var (
	// plainName is what a Service may be called (RFC 1035): no dots, no leading digit.
	plainName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	// hashedName is what shorten makes. A plain name of that form is hashed too, so that it cannot meet a shortened one.
	hashedName = regexp.MustCompile(`-[0-9a-f]{10}$`)
	notPlain   = regexp.MustCompile(`[^-a-z0-9]+`)
)

// AIModelChild returns the name of the children of the AIModel called name: that name itself wherever it is
// possible.
func AIModelChild(name string) string {
	if isPlain(name, maxName) && !strings.HasSuffix(name, serviceSuffix) {
		return name
	}
	return shorten(name, maxName)
}

// InferenceServiceChild returns the name of the children of the InferenceService called name: NAME-server
// wherever it is possible.
func InferenceServiceChild(name string) string {
	limit := maxName - len(serviceSuffix)
	if isPlain(name, limit) {
		return name + serviceSuffix
	}
	return shorten(name, limit) + serviceSuffix
}

// LabelValue returns name as the value of a label: itself, or shortened and hashed when it is over 63 characters or looks
// like a shortened one.
func LabelValue(name string) string {
	if len(name) <= maxName && !hashedName.MatchString(name) {
		return name
	}
	return shorten(name, maxName)
}

func isPlain(name string, limit int) bool {
	return len(name) <= limit && plainName.MatchString(name) && !hashedName.MatchString(name)
}

// shorten keeps the readable beginning of name and tells equal beginnings apart by a hash of the whole.
func shorten(name string, limit int) string {
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:])[:hashLen]
	head := strings.Trim(notPlain.ReplaceAllString(name, "-"), "-")
	if head == "" || head[0] < 'a' || head[0] > 'z' {
		head = strings.TrimSuffix("m-"+head, "-")
	}
	if longest := limit - hashLen - 1; len(head) > longest {
		head = strings.TrimRight(head[:longest], "-")
	}
	return head + "-" + hash
}
