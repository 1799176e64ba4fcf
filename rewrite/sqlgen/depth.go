package sqlgen

import (
	"strings"

	"github.com/dpsql/dpsql/rewrite/funcs"
)

// mostLevels is how deep an expression may be: backends have limits of their own, which a statement would meet after its charge. DuckDB's is 1000 (max_expression_depth); PostgreSQL's parser keeps 10,000 words, of which a level has up to three.
var mostLevels = map[funcs.Dialect]int{funcs.DuckDB: 900, funcs.Postgres: 2500}

// depth is how many operators, calls and CASEs of a printed statement are in each other, at most. A chain a + b + c is as deep as it has operators; those of AND and OR are flat.
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
