package policy

import (
	"fmt"
	"slices"
	"strings"
)

// position is a place in the file: 1-based line and column (in characters).
type position struct{ line, col int }

// word is a name or text with its place.
type word struct {
	position
	text string
}

// Problem is one mistake in a policy file.
type Problem struct {
	Line, Col     int
	Message, Hint string
	unset         bool // an environment variable: nothing is wrong with the file
}

// Error is all that is wrong with a policy, in the file's order.
type Error struct {
	File     string
	Problems []Problem
}

// maxProblems keeps the report of a hopeless file readable.
const maxProblems = 100

// Error is one line a problem, as compilers write them.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s", e.File, p.Line, p.Col, p.Message)
		if p.Hint != "" {
			fmt.Fprintf(&b, " (%s)", p.Hint)
		}
	}
	return b.String()
}

// problems collects mistakes.
type problems struct{ list []Problem }

// warnings are collected like problems.
type warnings struct{ problems }

func (ps *problems) add(at position, format string, args ...any) *Problem {
	ps.list = append(ps.list, Problem{Line: max(at.line, 1), Col: max(at.col, 1), Message: fmt.Sprintf(format, args...)})
	return &ps.list[len(ps.list)-1]
}

func (p *Problem) hint(format string, args ...any) { p.Hint = fmt.Sprintf(format, args...) }

// err is all of them as one error, or nil.
func (ps *problems) err(file string) error {
	if len(ps.list) == 0 {
		return nil
	}
	return &Error{File: file, Problems: ps.sorted()}
}

// exceptUnset leaves out the variables of the environment that are not set: who edits the file may lack its secrets.
func (ps *problems) exceptUnset() {
	ps.list = slices.DeleteFunc(ps.list, func(p Problem) bool { return p.unset })
}

// sorted gives them in the file's order, each once, and of a hopeless file not all.
func (ps *problems) sorted() []Problem {
	slices.SortStableFunc(ps.list, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Col - b.Col
	})
	list := slices.Compact(ps.list)
	if len(list) > maxProblems {
		list = append(list[:maxProblems:maxProblems], Problem{Line: list[maxProblems].Line, Col: list[maxProblems].Col,
			Message: fmt.Sprintf("%d more problems from here on", len(list)-maxProblems)})
	}
	return list
}

// Nearest finds the name that a misspelt one most likely meant: within a third of its letters, or the only one that it begins;
// else "".
func Nearest(name string, known []string) string {
	var longer []string
	for _, k := range known {
		if len(name) >= 4 && strings.HasPrefix(strings.ToLower(k), strings.ToLower(name)) {
			longer = append(longer, k)
		}
	}
	if len(longer) == 1 {
		return longer[0]
	}
	best, least := "", len([]rune(name))/3+2
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of letters to insert, drop or change.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			change := diagonal
			if x[i] != y[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(y)]
}
