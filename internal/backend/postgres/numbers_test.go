package postgres_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// TestNumberForms: arrays, bytea and odd numerics in blocks; an array of another form is NULL and no failure, which would tell of rows.
func TestNumberForms(t *testing.T) {
	d := open(t, "postgres", postgres.Options{})
	array := func(elem sqltype.Type) backend.NumberColumn {
		a, ok := sqltype.ArrayOf(elem)
		if !ok {
			t.Fatal(elem)
		}
		return backend.NumberColumn{Type: a, Width: 3}
	}
	bits := func(x float64) int64 { return int64(math.Float64bits(x)) } //nolint:gosec // bits
	null := []int64(nil)
	for _, c := range []struct {
		sql  string
		as   backend.NumberColumn
		want []int64
	}{
		{"'{1,-2,3}'::smallint[]", array(sqltype.Int2), []int64{1, -2, 3}},
		{"'{1,-2,3}'::int[]", array(sqltype.Int4), []int64{1, -2, 3}},
		{"'{1,NaN,-Infinity}'::float8[]", array(sqltype.Float8), []int64{bits(1), 0x7FF8000000000000, bits(math.Inf(-1))}},
		{"'{0.5,1,2}'::real[]", array(sqltype.Float4), []int64{bits(0.5), bits(1), bits(2)}},
		{"'{0.25,-12345.5,1e20}'::numeric[]", array(sqltype.Numeric), []int64{bits(0.25), bits(-12345.5), bits(1e20)}},
		{"'\\x00ff07'::bytea", backend.NumberColumn{Type: sqltype.Bytea, Width: 3}, []int64{0, 255, 7}},
		{"'\\x00ff'::bytea", backend.NumberColumn{Type: sqltype.Bytea, Width: 3}, null},
		{"NULL::bytea", backend.NumberColumn{Type: sqltype.Bytea, Width: 3}, null},
		{"'{1,2}'::int[]", array(sqltype.Int4), null}, {"'{}'::int[]", array(sqltype.Int4), null}, {"NULL::int[]", array(sqltype.Int4), null},
		{"'{1,NULL,3}'::int[]", array(sqltype.Int4), null}, {"'{{1,2,3}}'::int[]", array(sqltype.Int4), null}, {"'[0:2]={1,2,3}'::int[]", array(sqltype.Int4), null},
		{"'NaN'::numeric", backend.NumberColumn{Type: sqltype.Numeric}, []int64{bits(math.NaN())}},
		{"'Infinity'::numeric", backend.NumberColumn{Type: sqltype.Numeric}, []int64{bits(math.Inf(1))}},
		{"'-Infinity'::numeric", backend.NumberColumn{Type: sqltype.Numeric}, []int64{bits(math.Inf(-1))}},
		{"0.000::numeric", backend.NumberColumn{Type: sqltype.Numeric}, []int64{0}},
		{"-0.0000000123::numeric", backend.NumberColumn{Type: sqltype.Numeric}, []int64{bits(-0.0000000123)}},
		{"123456789012.25::numeric", backend.NumberColumn{Type: sqltype.Numeric}, []int64{bits(123456789012.25)}},
	} {
		tx, err := d.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := backend.QueryNumbers(t.Context(), tx, "SELECT "+c.sql, nil, []backend.NumberColumn{c.as})
		if err != nil {
			t.Fatalf("%s: %v", c.sql, err)
		}
		if !rows.Next() {
			t.Fatalf("%s: %v", c.sql, rows.Err())
		}
		n := secret.Open(rows.Block()).(*secret.Numbers)
		if n.Null[0] != (c.want == nil) || c.want != nil && fmt.Sprint(n.Cells) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, null %v", c.sql, n.Cells, n.Null)
		}
		if rows.Next() || rows.Err() != nil {
			t.Errorf("%s: %v", c.sql, rows.Err())
		}
		tx.Close()
	}
	tx, err := d.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Close()
	if _, err := backend.QueryNumbers(t.Context(), tx, "SELECT 'x'::text", nil, []backend.NumberColumn{{Type: sqltype.Int8}}); err == nil {
		t.Error("a text is read as a number")
	}
}
