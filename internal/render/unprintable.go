package render

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// escapeUnprintable writes the characters that are legal in JSON strings, but that YAML refuses or folds, as \u
// escapes. Charts print all strings as JSON, so such characters only ever stand between double quotes, where both
// spellings mean the same.
func escapeUnprintable(text []byte) []byte {
	first := bytes.IndexFunc(text, unprintable)
	if first < 0 {
		return text
	}
	var out bytes.Buffer
	out.Write(text[:first])
	for rest := text[first:]; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if unprintable(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.Write(rest[:size])
		}
		rest = rest[size:]
	}
	return out.Bytes()
}

// unprintable says whether r is outside YAML's printable characters or one of its line breaks beyond ASCII.
func unprintable(r rune) bool {
	switch {
	case r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return true
	}
	return false
}
