package sensitivity

import (
	"fmt"
	"math"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// Split takes a part of the units: those whose hash, keyed by Salt, is less than Fraction of all hashes, or with Rest the others. The zero value takes all.
type Split struct {
	Salt     string
	Fraction float64
	Rest     bool
}

// split adds the condition to the statement's rows.
//
// Proof: claim: the bounds of Analyze hold, for the rows that the condition keeps, and the parts of one Salt and Fraction have each unit in exactly one of them. (a) The condition is a function of the unit's value and of constants that are drawn without looking at the data, so of each unit all rows are kept or
// none: the rows that are kept are a database of the kept units' rows, and neighbours of the whole are neighbours of it, or equal to it. Everything that Analyze claims of the body's rows by unit it claims of any subset of whole units; rows without a unit, which no analysis counts, are dropped.
// (b) Equal values of a unit are hashed alike in whatever table and type they stand (funcs.InSplit), and of a value and its complement in comparison exactly one is true. (c) It raises for no value: text forms, a hash of bytes and a comparison of hexadecimal digits are total. Nothing is charged less for
// it: a part's statement costs what it does over all (parallel composition is not claimed).
func (z *analyzer) split() {
	s := z.opts.Split
	if !z.whole || s.Salt == "" {
		return
	}
	z.out.Split = s
	text := func(v string) plan.Scalar { return &plan.Const{Value: v, T: sqltype.Text} }
	fn := funcs.InSplit
	if s.Rest {
		fn = funcs.OutsideSplit
	}
	unit := z.out.Body.UnitCol
	z.out.Body.Rel = &plan.Filter{Input: z.out.Body.Rel, Cond: &plan.Call{Fn: fn, T: sqltype.Bool, Pos: -1,
		Args: []plan.Scalar{z.splitValue(unit), text(s.Salt), text(fmt.Sprintf("%016x", uint64(s.Fraction*math.Ldexp(1, 63))<<1))}}}
}
