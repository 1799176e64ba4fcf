package pgsyntax

import "strings"

// condensedFrom is how long a text is whose comments nobody reads, and mostBlank how long a run of blanks that has a meaning, as indentation.
const (
	condensedFrom = 1000
	mostBlank     = 40
)

// Condensed is what is shown of a text to others. A long one is without comments and long runs of blanks: where it is cut afterwards, they do not hide what it asks. A text that cannot be read is as it is from there on.
func Condensed(text string) string {
	if len(text) <= condensedFrom {
		return text
	}
	var b strings.Builder
	written := 0
	l := &lexer{src: text, gap: func(from, to int) {
		gap := text[from:to]
		if from < written || len(gap) <= mostBlank && strings.IndexByte(gap, '-') < 0 && strings.IndexByte(gap, '/') < 0 {
			return
		}
		b.WriteString(text[written:from])
		written = to
		switch {
		case from == 0:
		case strings.ContainsAny(gap, "\n\r"): // which joins strings too
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
	}}
	for l.skipBlank() == nil && l.pos < len(text) && l.next() == nil {
		l.toks = l.toks[:0]
	}
	if written == 0 {
		return text
	}
	b.WriteString(text[written:])
	return b.String()
}
