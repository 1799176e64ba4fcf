package backendtest

import (
	"math"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// testNumbers: what is read in blocks is what is read row by row, of every type that has numbers; many rows come in several blocks, in order.
func testNumbers(t *testing.T, g Target) {
	columns := []string{"b", "i2", "i4", "i8", "f4", "f8", "n", "d", "ts"}
	types := []sqltype.Type{sqltype.Bool, sqltype.Int2, sqltype.Int4, sqltype.Int8, sqltype.Float4, sqltype.Float8, sqltype.Numeric, sqltype.Date, sqltype.Timestamp}
	want := make([]backend.NumberColumn, len(types))
	sql := "SELECT "
	for i, c := range columns {
		if want[i].Type = types[i]; i > 0 {
			sql += ", "
		}
		sql += c
	}
	sql += " FROM " + table(t, g, "torture") + " ORDER BY id"
	rows := mustAsk(t, g.Backend, sql, nil, types...)
	cells, null := numbersOf(t, g.Backend, sql, want)
	if len(cells) != len(rows)*len(types) || len(null) != len(cells) {
		t.Fatalf("%d cells of %d rows", len(cells), len(rows))
	}
	for i, row := range rows {
		for j, v := range row {
			cell, bits := cells[i*len(types)+j], math.Float64frombits(uint64(cells[i*len(types)+j])) //nolint:gosec // bits
			same := null[i*len(types)+j] == (v == nil)
			switch x := v.(type) {
			case bool:
				same = same && (cell == 1) == x
			case int64:
				same = same && cell == x
			case sqltype.Days:
				same = same && cell == int64(x)
			case sqltype.Micros:
				same = same && cell == int64(x)
			case float64:
				same = same && (bits == x || bits != bits && x != x)
			case decimal.Decimal:
				same = same && math.Abs(bits-x.InexactFloat64()) <= 1e-15*math.Abs(bits)
			}
			if !same {
				t.Errorf("%s of row %d is %d (%g) in a block, and %v as a value", columns[j], i, cell, bits, v)
			}
		}
	}
	const many = 200_000
	cells, _ = numbersOf(t, g.Backend, "SELECT x FROM generate_series(1, 200000) AS s(x) ORDER BY x", []backend.NumberColumn{{Type: sqltype.Int8}})
	if len(cells) != many || cells[0] != 1 || cells[many/2] != many/2+1 || cells[many-1] != many {
		t.Errorf("%d cells of %d", len(cells), many)
	}
}

func numbersOf(t *testing.T, b backend.Backend, sql string, want []backend.NumberColumn) (cells []int64, null []bool) {
	t.Helper()
	tx, err := b.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	rows, err := backend.QueryNumbers(t.Context(), tx, sql, nil, want)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		n, ok := secret.Open(rows.Block()).(*secret.Numbers)
		if !ok || len(n.Null) != n.Rows*len(want) {
			t.Fatalf("a block of %T", rows.Block())
		}
		cells, null = append(cells, n.Cells...), append(null, n.Null...)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return cells, null
}
