package sqltype

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CutMark begins what stands where something was cut.
const CutMark = " ... (cut; "

// IsCut says whether a text, or a part of it, was cut. It may be wrong of a text that says so itself.
func IsCut(text string) bool { return strings.Contains(text, CutMark) }

// CutText is a text of at most so many bytes, 64 or more, in valid UTF-8: the middle of a longer one is cut, and it says so.
func CutText(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return strings.Clone(text)
	}
	gap := fmt.Sprintf("%s%d bytes) ... ", CutMark, len(text))
	head, tail := (most-len(gap))/2, len(text)-(most-len(gap))/2
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + gap + text[tail:]
}
