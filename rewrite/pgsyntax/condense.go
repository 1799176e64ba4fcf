package pgsyntax

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// condensedFrom is how long a text is whose comments nobody reads, mostBlank how long a run of blanks that has a meaning, as indentation, and mostLines how many lines may end between two words, or in a constant.
const (
	condensedFrom = 1000
	mostBlank     = 40
	mostLines     = 3
)

// mostConstant is the bytes of a constant or a name that is shown whole, and fewConstant those in a text that would be too long otherwise.
const (
	mostConstant = 256
	fewConstant  = 64
)

// Condensed is what is shown of a text to others, in most bytes. Nothing in it hides what it asks:
//   - It has no long runs of blanks, no more than mostLines lines between two words, and no comments if it is long.
//   - Each long constant or name is cut by itself, and keeps its ends and its length. One with many lines is written with \n, as E'...'.
//
// Only where it is too long even so its middle is cut. sqltype.IsCut tells of both cuts. A text that cannot be read is as it is from there on.
func Condensed(text string, most int) string {
	out := condensed(text, mostConstant)
	if len(out) > most {
		out = condensed(text, fewConstant)
	}
	return sqltype.CutText(out, most)
}

func condensed(text string, constant int) string {
	out, written := make([]byte, 0, min(len(text), 1<<16)), 0
	l := &lexer{src: text, gap: func(from, to int) {
		gap := text[from:to]
		isComment := strings.ContainsAny(gap, "-/")
		if from < written || !(isComment && len(text) > condensedFrom || !isComment && len(gap) > mostBlank || linesIn(gap) > mostLines) {
			return
		}
		out = append(out, text[written:from]...)
		written = to
		switch {
		case from == 0:
		case strings.ContainsAny(gap, "\n\r") && !strings.Contains(gap, "/*"): // which joins strings too
			out = append(out, '\n')
		default:
			out = append(out, ' ')
		}
	}}
	for l.skipBlank() == nil && l.pos < len(text) {
		start := l.pos
		out = append(out, text[written:start]...)
		written = start
		before := len(out)
		if l.next() != nil {
			break
		}
		raw := string(out[before:]) + text[min(written, l.pos):l.pos]
		if len(raw) > constant || linesIn(raw) > mostLines {
			out = append(out[:before], shortToken(&l.toks[0], raw, constant)...)
			written = l.pos
		}
		l.toks = l.toks[:0]
	}
	return string(append(out, text[written:]...))
}

// shortToken is a long constant or name in about so many bytes, on one line. A string that is not cut means the same.
func shortToken(t *token, raw string, most int) string {
	if t.kind != tString {
		return onLine.Replace(sqltype.CutText(raw, most))
	}
	value, prefix := sqltype.CutText(t.text, most), ""
	if strings.ContainsAny(value, "\\\n\r") {
		value, prefix = onLine.Replace(strings.ReplaceAll(value, `\`, `\\`)), "E"
	}
	return prefix + "'" + strings.ReplaceAll(value, "'", "''") + "'"
}

var onLine = strings.NewReplacer("\n", `\n`, "\r", `\r`)

func linesIn(text string) int { return strings.Count(text, "\n") + strings.Count(text, "\r") }
