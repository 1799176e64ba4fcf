package eval

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/spool"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// machine is one run.
type machine struct {
	ctx   context.Context
	args  []sqltype.Value
	outer []sqltype.Value // values of the rows around a subquery or a LATERAL side, by slot
	once  []*stored       // what subqueries gave that read no row around
	count int
	made  int64

	gathered int64 // by aggregates

	long int // bytes of long values
	went int // bytes that functions went through since the last look at the context

	indexes []*indexed
	working [][][]sqltype.Value // of recursive queries

	limits Limits
	held   int // bytes of rows that came one by one
}

// stored is what a subquery gave that does not depend on the row.
type stored struct {
	rows [][]sqltype.Value
	err  error
}

// indexed are places of rows by the key of their column, in order.
type indexed struct {
	rows [][]sqltype.Value
	at   map[string][]int
	err  error
}

// checkEvery is how many rows pass between two looks at the context.
const checkEvery = 1024

// tick is called once a row.
func (m *machine) tick() error {
	m.count++
	if m.count%checkEvery == 0 {
		return m.ctx.Err()
	}
	return nil
}

// maxMade limits the values that joins, unions, wider rows, arrays and concatenations make: only they can be more than a statement and its rows.
const maxMade = 1 << 22

// make counts n values, or as many bytes of text.
func (m *machine) make(n int) error {
	if m.made += int64(n); m.made > maxMade {
		return tooMany()
	}
	return nil
}

// row counts a row that is made: one without columns, as where only a count is read, has its own cost.
func (m *machine) row(cols []plan.ColID) error { return m.make(len(cols) + 1) }

// widen counts n values more in a row that there is; where finishing has a limit of its own, that one holds what is released.
func (m *machine) widen(n int) error {
	if m.limits.Held > 0 {
		return nil
	}
	return m.make(n)
}

// gather counts n values, or as many bytes of text, that aggregates hold until they are done.
func (m *machine) gather(n int) error {
	if m.gathered += int64(n); m.gathered > maxMade {
		return tooMany()
	}
	return nil
}

func tooMany() error {
	return sqlerr.New(sqlerr.TooComplex, "the statement makes more than %d values of released values or of dpsql's own tables", maxMade)
}

// What functions make of a few bytes is a value of many. Long values of one statement have maxLong bytes together, whether or not they are kept.
const (
	longText = 64
	maxLong  = 64 << 20
)

// hold counts a value that a function made.
func (m *machine) hold(v sqltype.Value) error {
	n := sizeOf(v)
	if n <= longText {
		return nil
	}
	if m.long += n; m.long > maxLong {
		return sqlerr.New(sqlerr.TooComplex, "the statement makes texts of more than %d MB of released values or of dpsql's own tables", maxLong>>20)
	}
	return nil
}

// sizeOf is about the bytes of a value that may have many: digits, texts, elements.
func sizeOf(v sqltype.Value) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case sqltype.Bytes:
		return len(v)
	case sqltype.JSON:
		return len(v)
	case decimal.Decimal:
		e := int(v.Exponent()) // digits that are counted out, before the point or after it
		return v.Coefficient().BitLen()/8 + max(e, -e)/2
	case *sqltype.Array:
		n := 0
		for _, e := range v.Values {
			n += 16 + sizeOf(e)
		}
		return n
	}
	return 0
}

// Limits are for relations that are read row by row (Relation.Each): what needs no whole relation passes them on, an order is made on disk, and the rest holds them in memory.
type Limits struct {
	Held int          // bytes of rows that are held, about
	Sort spool.Limits // of each order
}

// lookAfter is how many bytes of arguments pass between two looks at the context: a function takes milliseconds over some kilobytes, and
// seconds over a thousand rows of them.
const lookAfter = 4096

// call computes a function.
func (m *machine) call(f *funcs.Func, vals []sqltype.Value, types []sqltype.Type, t sqltype.Type) (sqltype.Value, error) {
	n := 0
	for _, v := range vals {
		n += sizeOf(v)
	}
	if m.went += n; m.went >= lookAfter {
		m.went = 0
		if err := m.ctx.Err(); err != nil {
			return nil, err
		}
		if n >= lookAfter && f.Slow != nil {
			return f.Slow(m.ctx.Err, vals, types, t)
		}
	}
	return f.Eval(vals, types, t)
}
