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
// (b) Equal values of a unit are hashed alike in whatever table and type they stand (spellSplit), and of a value and its complement in comparison exactly one is true. (c) It raises for no value: text forms, a hash of bytes and a comparison of hexadecimal digits are total. Nothing is charged less for
// it: a part's statement costs what it does over all (parallel composition is not claimed).
func (z *analyzer) split() {
	s := z.opts.Split
	if !z.whole || s.Salt == "" {
		return
	}
	z.out.Split = s
	text := func(v string) plan.Scalar { return &plan.Const{Value: v, T: sqltype.Text} }
	fn := inSplit
	if s.Rest {
		fn = outsideSplit
	}
	unit := z.out.Body.UnitCol
	z.out.Body.Rel = &plan.Filter{Input: z.out.Body.Rel, Cond: &plan.Call{Fn: fn, T: sqltype.Bool, Pos: -1,
		Args: []plan.Scalar{z.splitValue(unit), text(s.Salt), text(fmt.Sprintf("%016x", uint64(s.Fraction*math.Ldexp(1, 63))<<1))}}}
}

// The two parts. They have no evaluation in the proxy: units' values do not reach it.
var (
	inSplit      = &funcs.Func{Name: "in split", Kind: funcs.Function, Result: sqltype.OIDBool, TotalForm: spellSplit("<"), RaisingForm: spellSplit("<")}
	outsideSplit = &funcs.Func{Name: "outside split", Kind: funcs.Function, Result: sqltype.OIDBool, TotalForm: spellSplit(">="), RaisingForm: spellSplit(">=")}
)

// spellSplit compares the digits of a hash of salt and value with those of the fraction.
func spellSplit(op string) func(funcs.Dialect, []string, []sqltype.Type, sqltype.Type) string {
	return func(d funcs.Dialect, args []string, types []sqltype.Type, _ sqltype.Type) string {
		text := textOf(d, args[0], types[0])
		if d == funcs.DuckDB {
			return fmt.Sprintf("(sha256(%s || %s) %s %s)", args[1], text, op, args[2])
		}
		// every text is valid in SQL_ASCII: its bytes as they are, whatever the database's encoding
		return fmt.Sprintf(`(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.textcat(%s, %s), 'SQL_ASCII')), 'hex') COLLATE pg_catalog."C" %s %s)`, args[1], text, op, args[2])
	}
}
