package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// TestLimits: texts whose meaning grows with a power of their length are refused, or cost no more than their length.
func TestLimits(t *testing.T) {
	cat := wideCatalog()
	doubling := "with c0 as (select * from wide)"
	for i := range 30 {
		doubling += fmt.Sprintf(", c%d as (select x.*, y.* from c%d x, c%d y)", i+1, i, i)
	}
	many := "select 1 from wide w0" + strings.Repeat(", wide", 2000)
	for _, sql := range []string{doubling + " select 1 from c30", many} {
		_, err := bind(t, cat, sql)
		if id := sqlerr.ID(err); id != sqlerr.TooComplex.ID && id != sqlerr.DuplicateAlias.ID {
			t.Errorf("%.60s...: %v", sql, err)
		}
	}
	nested := "i4"
	for range 20 {
		nested = "(select " + nested + " from wide group by 1)"
	}
	if _, err := bind(t, cat, "select "+nested); err != nil {
		t.Errorf("nested: %v", err)
	}
}

// TestClock: what follows from the clock is a constant, and the statement is to be bound again when it is run.
func TestClock(t *testing.T) {
	zone, ok := sqltype.LookupZone("Asia/Tokyo")
	if !ok {
		t.Fatal("no zone")
	}
	at, err := sqltype.ParseText("2024-02-29 23:30:00.123456+00", sqltype.Timestamptz)
	if err != nil {
		t.Fatal(err)
	}
	opts := plan.BindOptions{Session: map[string]plan.SessionValue{plan.Now: {Value: at, Type: sqltype.Timestamptz}}, Values: sqltype.Settings{Zone: zone}}
	for sql, want := range map[string]string{
		"select now()":                 "2024-03-01 08:30:00.123456+09",
		"select statement_timestamp()": "2024-03-01 08:30:00.123456+09",
		"select current_timestamp(2)":  "2024-03-01 08:30:00.12+09",
		"select current_date":          "2024-03-01",
		"select localtimestamp":        "2024-03-01 08:30:00.123456",
		"select localtimestamp(0)":     "2024-03-01 08:30:00",
	} {
		st, err := pgsyntax.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), wideCatalog(), opts)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		c, ok := q.Root.(*plan.Project).Items[0].Expr.(*plan.Const)
		if !ok || !q.Clock {
			t.Errorf("%s: %s", sql, plan.Format(q))
			continue
		}
		text, err := opts.Values.Encode(c.Value, c.T, 0, nil)
		if err != nil || string(text) != want {
			t.Errorf("%s: %s, want %s; %v", sql, text, want, err)
		}
	}
}
