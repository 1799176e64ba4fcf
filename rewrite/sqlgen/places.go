package sqlgen

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// byPlace says of which scores' class a CASE has a constant for each place: computing that once a row is worth a form of its own. Scores are the same that have one row of the registry and arguments of one text.
func (p *printer) byPlace(n *plan.Case, f *from, m mode) (of *plan.Call, at []sqltype.Value) {
	args := ""
	for _, w := range n.Whens {
		eq, ok := w.Cond.(*plan.Call)
		if !ok || eq.Fn.Name != "=" || len(eq.Args) != 2 {
			return nil, nil
		}
		x, ok := eq.Args[0].(*plan.Call)
		c, constant := eq.Args[1].(*plan.Const)
		_, result := w.Result.(*plan.Const)
		if !ok || !constant || !result || x.Fn.Name != funcs.ScoresName || x.T.OID != sqltype.OIDInt4 || of != nil && x.Fn != of.Fn || c.T.OID != sqltype.OIDInt4 || c.Value == nil {
			return nil, nil
		}
		text := strings.Join(p.ofScores(x.Args[1:], f, m), ", ")
		if of != nil && text != args {
			return nil, nil
		}
		of, at, args = x, append(at, c.Value), text
	}
	if n.Else != nil {
		return nil, nil
	}
	return of, at
}

// ofScores prints the arguments of scores, arrays as they are read there.
func (p *printer) ofScores(xs []plan.Scalar, f *from, m mode) []string {
	out := make([]string, len(xs))
	for i, x := range xs {
		if x.Type().IsArray() {
			out[i] = p.listOf(x, f)
		} else {
			out[i] = p.scalar(x, f, m)
		}
	}
	return out
}

// isIdentity: the CASE gives each place that there is itself, so it is the place: NULL for NULL, and within the function's range else.
func isIdentity(n *plan.Case, of *plan.Call, at []sqltype.Value) bool {
	iv := of.Fn.Range(nil, nil)
	for i, w := range n.Whens {
		if c, ok := w.Result.(*plan.Const); !ok || c.Value != at[i] || at[i] != int64(i) {
			return false
		}
	}
	return iv.Lo.IsZero() && iv.Hi.Equal(decimal.NewFromInt(int64(len(at)-1)))
}

// casePlaces prints it.
func (p *printer) casePlaces(n *plan.Case, of *plan.Call, at []sqltype.Value, f *from, m mode) string {
	x, results := p.scalar(of, f, m), make([]plan.Scalar, len(n.Whens))
	if isIdentity(n, of, at) {
		return x
	}
	for i, w := range n.Whens {
		results[i] = w.Result
	}
	var b strings.Builder
	for i, r := range p.sideBySide(results, f, m) {
		fmt.Fprintf(&b, " WHEN %d THEN %s", at[i], r)
	}
	return p.d.SimpleCase(x, b.String())
}
