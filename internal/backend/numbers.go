package backend

import (
	"context"
	"fmt"
	"math"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// NumberColumn is a column that is read as numbers. Width is how many elements an array, or bytes a bytea, must have; 0: no array.
type NumberColumn struct {
	Type  sqltype.Type
	Width int
}

// Cells is how many numbers a row has of it.
func (c NumberColumn) Cells() int { return max(1, c.Width) }

// Float says that cells are floats by their bits.
func (c NumberColumn) Float() bool {
	t := c.Type
	if c.Width > 0 {
		t, _ = t.Elem()
	}
	return t.IsFloat() || t.OID == sqltype.OIDNumeric
}

// NumbersTx is a Tx that has a short way for many rows of numbers.
type NumbersTx interface {
	QueryNumbers(ctx context.Context, sql string, args []Arg, want []NumberColumn) (secret.NumberRows, error)
}

// BlockRows is how many rows of so many cells come at once: about half a megabyte.
func BlockRows(want []NumberColumn) int {
	cells := 0
	for _, c := range want {
		cells += c.Cells()
	}
	return max(1, (1<<16)/max(1, cells))
}

// QueryNumbers runs one statement whose answer is numbers: by the transaction's short way, or row by row where it has none.
func QueryNumbers(ctx context.Context, tx Tx, sql string, args []Arg, want []NumberColumn) (secret.NumberRows, error) {
	if short, ok := tx.(NumbersTx); ok {
		return short.QueryNumbers(ctx, sql, args, want)
	}
	types := make([]sqltype.Type, len(want))
	for i, c := range want {
		types[i] = c.Type
	}
	rows, err := tx.Query(ctx, sql, args, types)
	if err != nil {
		return nil, err
	}
	return &numberRows{rows: rows, want: want, most: BlockRows(want)}, nil
}

// numberRows makes blocks of rows.
type numberRows struct {
	rows secret.Rows
	want []NumberColumn
	most int
	now  secret.Numbers
}

var _ secret.NumberRows = (*numberRows)(nil)

// Format prints nothing of an answer.
func (*numberRows) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("(rows)")) }

func (r *numberRows) Next() bool {
	n := &r.now
	n.Rows, n.Cells, n.Null = 0, n.Cells[:0], n.Null[:0]
	for n.Rows < r.most && r.rows.Next() {
		for i, v := range r.rows.Row() {
			var null bool
			n.Cells, null = appendCells(n.Cells, secret.Open(v), r.want[i])
			n.Null = append(n.Null, null)
		}
		n.Rows++
	}
	return n.Rows > 0 && r.rows.Err() == nil
}

func (r *numberRows) Block() secret.Value { return secret.Of(&r.now) }

func (r *numberRows) Err() error { return r.rows.Err() }

func (r *numberRows) Close() {
	r.rows.Close()
	clear(r.now.Cells)
}

// appendCells adds what a value is as cells, as many as its column has. What is no number is NULL.
func appendCells(cells []int64, v sqltype.Value, c NumberColumn) (more []int64, null bool) {
	list := []sqltype.Value{v}
	switch x := v.(type) {
	case *sqltype.Array:
		if list = x.Values; len(x.Dims) != 1 || x.Lower[0] != 1 {
			list = nil
		}
	case sqltype.Bytes:
		list = make([]sqltype.Value, len(x))
		for i := range list { // x is a string, of which a range has characters
			list[i] = int64(x[i])
		}
	}
	if v == nil || len(list) != c.Cells() {
		return append(cells, make([]int64, c.Cells())...), true
	}
	for _, v := range list {
		n, ok := cell(v)
		null = null || v == nil || !ok
		cells = append(cells, n)
	}
	return cells, null
}

func cell(v sqltype.Value) (int64, bool) {
	switch x := v.(type) {
	case nil:
		return 0, true
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	case int64:
		return x, true
	case float64:
		return int64(math.Float64bits(x)), true //nolint:gosec // bits
	case decimal.Decimal:
		return int64(math.Float64bits(x.InexactFloat64())), true //nolint:gosec // bits
	case sqltype.Days:
		return int64(x), true
	case sqltype.Micros:
		return int64(x), true
	}
	return 0, false
}
