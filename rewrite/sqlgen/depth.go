package sqlgen

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
)

// mostScans is how many tables a statement reads at most: WITH queries that join another one twice double them, and so do the paths to the privacy unit. DuckDB takes 20 s and more to plan joins of 99 tables; TPC-DS needs 57.
const mostScans = 64

// fits refuses a statement that the database could not parse, or would plan for minutes, by its text alone.
func (p *printer) fits(st *Statement) error {
	switch {
	case p.err != nil:
	case len(st.SQL) > maxText:
		p.err = tooComplex()
	case p.size.scans > mostScans:
		p.err = sqlerr.New(sqlerr.TooComplex, "the statement reads %d tables once its WITH queries and views are written out; at most %d are read", p.size.scans, mostScans).
			WithHint("A WITH query is read again wherever it is named: name it once, with CASE or FILTER in place of joining it with itself.")
	case depth(st.SQL) > p.d.Facts().Levels:
		p.err = sqlerr.New(sqlerr.TooComplex, "the statement has expressions of more than %d levels once it is written out", p.d.Facts().Levels).
			WithHint("Use fewer operators in each other: a product in place of a long sum, parts of a long text apart.")
	}
	return p.err
}

// depth is how many operators, calls and CASEs of a printed statement are in each other, at most. Databases have limits of their own (dialect.Facts.Levels), which a statement would meet after its charge. A chain a + b + c is as deep as it has operators; those of AND and OR are flat.
func depth(sql string) int {
	type level struct{ chain, longest, below int }
	stack := []level{{}}
	end := func() { // of an operand's chain
		l := &stack[len(stack)-1]
		l.longest, l.chain = max(l.longest, l.chain), 0
	}
	pop := func() {
		if len(stack) < 2 {
			return
		}
		end()
		l := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		up := &stack[len(stack)-1]
		up.below = max(up.below, l.below+l.longest+1)
	}
	for at := 0; at < len(sql); {
		switch b := sql[at]; {
		case b == '\'' || b == '"':
			to := strings.IndexByte(sql[at+1:], b)
			if to < 0 {
				to = len(sql) - at - 2
			}
			at += to + 2
			continue
		case b == '(' || b == '[':
			stack = append(stack, level{})
		case b == ')' || b == ']':
			pop()
		case b == ',':
			end()
		case strings.IndexByte("+-*/%|<>=~!^&#@", b) >= 0:
			stack[len(stack)-1].chain++
			for at+1 < len(sql) && strings.IndexByte("|<>=~!*", sql[at+1]) >= 0 {
				at++
			}
		case isWordByte(b):
			from := at
			for at < len(sql) && isWordByte(sql[at]) {
				at++
			}
			switch sql[from:at] {
			case "CASE":
				stack = append(stack, level{})
			case "END":
				pop()
			case "WHEN", "THEN", "ELSE", "AND", "OR", "SELECT", "FROM", "WHERE", "ON", "GROUP", "ORDER", "JOIN", "HAVING", "UNION":
				end()
			}
			continue
		}
		at++
	}
	end()
	most := 0
	for _, l := range stack {
		most = max(most, l.below+l.longest)
	}
	return most
}

func isWordByte(b byte) bool { return wordByte(b) || b >= 'A' && b <= 'Z' }
