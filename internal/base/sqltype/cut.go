package sqltype

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CutText is a text of at most so many bytes, 64 or more, in valid UTF-8: the middle of a longer one is cut, and it says so.
func CutText(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return strings.Clone(text)
	}
	gap := fmt.Sprintf(" ... (cut; %d bytes) ... ", len(text))
	head, tail := (most-len(gap))/2, len(text)-(most-len(gap))/2
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + gap + text[tail:]
}
