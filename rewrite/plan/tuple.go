package plan

import (
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// Tuple are the values of a row that COUNT(DISTINCT ...) tells apart together: NULL is a value like any, and none of them is NULL itself. It stands nowhere else.
type Tuple struct {
	Items []Scalar
	// Of the rows of several relations, one above the other: Side is the number of a row's, and Held says in which of them a tuple must have rows to count.
	Side Scalar
	Held *Held
}

// Held is a condition on the relations that have a tuple: that Side has it, or, with Op, what is so of the parts.
type Held struct {
	Side  int64
	Op    LogicOp
	Parts []*Held
}

func (*Tuple) scalar() {}

// Type is that of the text that stands for the values.
func (*Tuple) Type() sqltype.Type { return sqltype.Text }

// Text writes the condition, with a text for each side.
func (h *Held) Text(side func(int64) string) string {
	if len(h.Parts) == 0 {
		return side(h.Side)
	}
	parts := make([]string, len(h.Parts))
	for i, x := range h.Parts {
		parts[i] = x.Text(side)
	}
	if h.Op == Not {
		return "NOT " + parts[0]
	}
	return "(" + strings.Join(parts, " "+string(h.Op)+" ") + ")"
}
