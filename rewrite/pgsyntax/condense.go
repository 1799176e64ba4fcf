package pgsyntax

import "strings"

// condensedFrom is how long a text is whose comments nobody reads, mostBlank how long a run of blanks that has a meaning, as indentation, and mostLines how many lines may end between two words.
const (
	condensedFrom = 1000
	mostBlank     = 40
	mostLines     = 3
)

// Condensed is what is shown of a text to others: without what puts words far apart, which are long runs of blanks, many lines between two words, and comments of a long text. So nothing hides what it asks. A text that cannot be read is as it is from there on.
func Condensed(text string) string {
	var b strings.Builder
	written := 0
	l := &lexer{src: text, gap: func(from, to int) {
		gap := text[from:to]
		isComment := strings.ContainsAny(gap, "-/")
		if from < written || !(isComment && len(text) > condensedFrom || !isComment && len(gap) > mostBlank || strings.Count(gap, "\n")+strings.Count(gap, "\r") > mostLines) {
			return
		}
		b.WriteString(text[written:from])
		written = to
		switch {
		case from == 0:
		case strings.ContainsAny(gap, "\n\r") && !strings.Contains(gap, "/*"): // which joins strings too
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
