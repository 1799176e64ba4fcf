package engine_test

import (
	"context"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/policy"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// asksForNone are statements with values that leave them without rows, and others, of which the answer is refused or, otherwise, has rows.
var asksForNone = []struct {
	sql        string
	none, some []sqltype.Value
	refused    bool
}{
	{"select * from patients limit $1", []sqltype.Value{int64(0)}, []sqltype.Value{int64(3)}, true},
	{"select * from patients limit $1", []sqltype.Value{int64(0)}, []sqltype.Value{nil}, true}, // no limit
	{"select gender, weight from patients where $1", []sqltype.Value{false}, []sqltype.Value{true}, true},
	{"select gender, weight from patients where $1", []sqltype.Value{nil}, []sqltype.Value{true}, true},
	{"select * from encounters where 1 = $1 and days > 3", []sqltype.Value{int64(0)}, []sqltype.Value{int64(1)}, true},
	{"select * from (select * from encounters limit $1) e offset $2", []sqltype.Value{int64(0), int64(0)}, []sqltype.Value{int64(1), int64(0)}, true},
	{"select * from patients where 1 / $1::int = 5", []sqltype.Value{int64(1)}, []sqltype.Value{int64(0)}, true}, // what cannot be computed is not false
	{"select * from patients limit 1 / $1::int", []sqltype.Value{int64(2)}, []sqltype.Value{int64(0)}, true},
	{"select count(*) from encounters limit $1", []sqltype.Value{int64(0)}, []sqltype.Value{int64(1)}, false},
	{"select gender, count(*) from patients where $1::int = 1 group by gender", []sqltype.Value{int64(0)}, []sqltype.Value{int64(1)}, false},
}

// TestNoRowsByParameter: whether a statement has rows is known when its parameters are; without any it is free, with its columns, as LIMIT 0 and WHERE false are, and all else is as it was.
func TestNoRowsByParameter(t *testing.T) {
	ctx := context.Background()
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, "epsilon: 20,", "epsilon: 1000,")
	for _, c := range asksForNone {
		p, err := enginetest.Prepare(s, c.sql)
		if err != nil {
			t.Errorf("%s: %v", c.sql, err)
			continue
		}
		if len(p.Columns()) == 0 {
			t.Errorf("%s: no columns", c.sql)
		}
		for range 2 { // a prepared statement is used again
			before := enginetest.PaidFor(t, s)
			if a, err := p.Run(ctx, c.none); err != nil || len(a.Rows) != 0 || a.Notice != "" || enginetest.PaidFor(t, s) != before {
				t.Errorf("%s: %v: %v, %v, %d charges", c.sql, c.none, a, err, enginetest.PaidFor(t, s)-before)
			}
			enginetest.Set(t, s, "dpsql.fresh", "on") // another setting: it is analysed again
			switch a, err := p.Run(ctx, c.some); {
			case c.refused && sqlerr.ID(err) != sqlerr.RawRows.ID, c.refused && enginetest.PaidFor(t, s) != before:
				t.Errorf("%s: %v: %v", c.sql, c.some, err)
			case !c.refused && (err != nil || len(a.Rows) == 0 || enginetest.PaidFor(t, s) == before):
				t.Errorf("%s: %v: %v", c.sql, c.some, err)
			}
			enginetest.Set(t, s, "dpsql.fresh", "off")
		}
	}
	for _, sql := range []string{"select * from patients where weight = $1", "select * from patients offset $1", "select * from patients where weight > $1 or $2"} { // no value leaves them without rows
		if _, err := enginetest.Prepare(s, sql); sqlerr.ID(err) != sqlerr.RawRows.ID {
			t.Errorf("%s: %v", sql, err)
		}
	}
	p, err := enginetest.Prepare(s, "explain verbose select * from patients limit $1")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := p.Run(ctx, []sqltype.Value{int64(0)}); err != nil || a.Rows[0][0] != "Public statement: exact and free" {
		t.Errorf("EXPLAIN of no rows: %v, %v", a, err)
	}
	if _, err := p.Run(ctx, []sqltype.Value{int64(1)}); sqlerr.ID(err) != sqlerr.RawRows.ID {
		t.Errorf("EXPLAIN: %v", err)
	}
}

// TestCountOfNoRows: what is refused of other values is counted of those that leave no rows, at Execute.
func TestCountOfNoRows(t *testing.T) {
	ctx := context.Background()
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	_, refusal := enginetest.Prepare(s, "select count(*) from (select * from encounters limit 3) q")
	p, err := enginetest.Prepare(s, "select count(*) from (select * from encounters limit $1) q")
	if err != nil || refusal == nil {
		t.Fatal(err, refusal)
	}
	for range 2 {
		if a, err := p.Run(ctx, []sqltype.Value{int64(0)}); err != nil || len(a.Rows) != 1 || a.Rows[0][0] != int64(0) {
			t.Errorf("LIMIT 0: %v, %v", a, err)
		}
		if _, err := p.Run(ctx, []sqltype.Value{int64(3)}); sqlerr.ID(err) != sqlerr.ID(refusal) {
			t.Errorf("LIMIT 3: %v", err)
		}
	}
	if n := enginetest.PaidFor(t, s); n != 0 {
		t.Errorf("%d charges", n)
	}
}

// TestPreviewOfNoRows: a preview of no rows is no preview, and says nothing of rows.
func TestPreviewOfNoRows(t *testing.T) {
	for _, how := range []string{policy.PreviewSchema, policy.PreviewMock} {
		s, b := previewed(t, how, funcs.DuckDB)
		p, err := enginetest.Prepare(s, "select * from patients limit $1")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int64{0, 2, 0} {
			a, err := p.Run(context.Background(), []sqltype.Value{n})
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: int(n)}[how == policy.PreviewMock]; len(a.Rows) != want || a.MadeUp != (n > 0) || b.asked > 0 {
				t.Errorf("%s: LIMIT %d: %d rows, made up %v, the database was asked %d times", how, n, len(a.Rows), a.MadeUp, b.asked)
			}
		}
	}
}
