package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/pgtest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
)

var pg *pgx.Conn

func TestMain(m *testing.M) {
	s, stop, err := pgtest.StartShared()
	if err == nil {
		pg, err = pgx.Connect(context.Background(), s.URL("postgres"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

// ask runs SQL on PostgreSQL; NULL is nil.
func ask(sql string) (rows [][]*string, state string, err error) {
	res, err := pg.PgConn().Exec(context.Background(), sql).ReadAll()
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return nil, pe.Code, nil
	}
	if err != nil {
		return nil, "", err
	}
	for _, r := range res[len(res)-1].Rows {
		row := make([]*string, len(r))
		for i, c := range r {
			if c != nil {
				s := string(c)
				row[i] = &s
			}
		}
		rows = append(rows, row)
	}
	return rows, "", nil
}

// columns are those of the tests' relation; ids start at 1.
var columns = []struct {
	name string
	t    sqltype.Type
	sql  string
	vals []sqltype.Value
}{
	{"a", sqltype.Int4, "int4", []sqltype.Value{nil, int64(0), int64(1), int64(-1), int64(2), int64(math.MaxInt32), int64(math.MinInt32)}},
	{"b", sqltype.Bool, "bool", []sqltype.Value{nil, true, false}},
	{"c", sqltype.Text, "text", []sqltype.Value{nil, "", "a", "a ", "A", "ab", "ä", "z", "10", "9"}},
	{"d", sqltype.Float8, "float8", []sqltype.Value{nil, 0.0, math.Copysign(0, -1), 1.5, -1.5, math.NaN(), math.Inf(1), math.Inf(-1), 1e308, 5e-324}},
	{"e", sqltype.Numeric, "numeric", []sqltype.Value{nil, dec("0"), dec("1"), dec("1.0"), dec("1.00"), dec("-1.5"), dec("99999999999999999999.99"), dec("1e-20")}},
	{"f", sqltype.BPChar, "bpchar", []sqltype.Value{nil, "", " ", "a", "a  ", "ab ", "abc", "B  "}},
	{"g", sqltype.Date, "date", []sqltype.Value{nil, sqltype.Days(0), sqltype.Days(-1), sqltype.Days(9000)}},
}

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

func literal(v sqltype.Value, i int) string {
	c := columns[i]
	if v == nil {
		return "NULL::" + c.sql
	}
	return "'" + strings.ReplaceAll(sqltype.FormatText(v, c.t), "'", "''") + "'::" + c.sql
}

// source is the released relation as a plan node and as SQL.
func source() (*plan.Aggregate, *plan.Query) {
	q := &plan.Query{Columns: make([]plan.ColumnInfo, 1, 100)}
	agg := &plan.Aggregate{}
	for i, c := range columns {
		q.Columns = append(q.Columns, plan.ColumnInfo{Name: c.name, Type: c.t})
		agg.Keys = append(agg.Keys, plan.ColID(i+1))
	}
	return agg, q
}

func values(rows [][]sqltype.Value) string {
	var b strings.Builder
	b.WriteString("(VALUES ")
	for i, r := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "(%d", i)
		for j, v := range r {
			b.WriteString(", " + literal(v, j))
		}
		b.WriteString(")")
	}
	b.WriteString(") v(n")
	for _, c := range columns {
		b.WriteString(", " + c.name)
	}
	return b.String() + ")"
}

func drawRows(t *rapid.T, least int) [][]sqltype.Value {
	rows := make([][]sqltype.Value, rapid.IntRange(least, 12).Draw(t, "rows"))
	for i := range rows {
		for _, c := range columns {
			rows[i] = append(rows[i], rapid.SampledFrom(c.vals).Draw(t, c.name))
		}
	}
	return rows
}

func leafOf(agg *plan.Aggregate, rows [][]sqltype.Value) func(plan.Rel) (*Relation, bool) {
	return func(n plan.Rel) (*Relation, bool) {
		return &Relation{Cols: agg.Cols(), Rows: rows}, n == plan.Rel(agg)
	}
}

// compareFn is a comparison as the registry has it: the tests of that room check its rows; here the nodes around them are at stake.
func compareFn(op string) *funcs.Func {
	return &funcs.Func{Name: op, Kind: funcs.Operator, Eval: func(a []sqltype.Value, types []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		x, y := a[0], a[1]
		if types[0].OID == sqltype.OIDBPChar {
			x, y = unpad(x), unpad(y)
		}
		c := sqltype.Compare(x, y)
		return map[string]bool{"=": c == 0, "<>": c != 0, "<": c < 0, ">=": c >= 0}[op], nil
	}}
}

var divide = &funcs.Func{Name: "/", Kind: funcs.Operator, Eval: func(a []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
	if a[1] == int64(0) {
		return nil, sqlerr.New(sqlerr.DivisionByZero, "division by zero")
	}
	return a[0].(int64) / a[1].(int64), nil
}}

// expr draws an expression of column i's type, as SQL and bound.
func expr(t *rapid.T, i, depth int) (string, plan.Scalar) {
	c := columns[i]
	kinds := []string{"column", "const"}
	if depth > 0 {
		kinds = append(kinds, "case", "coalesce", "minmax")
		if c.t == sqltype.Bool {
			kinds = append(kinds, "logic", "logic", "not", "is", "isnull", "in", "in", "compare", "distinct")
		}
	}
	sub := func(j int) (string, plan.Scalar) { return expr(t, j, depth-1) }
	anyColumn := func() int { return rapid.IntRange(0, len(columns)-1).Draw(t, "type") }
	list := func(j, least int) (sql []string, bound []plan.Scalar) {
		for range rapid.IntRange(least, 3).Draw(t, "length") {
			s, x := sub(j)
			sql, bound = append(sql, s), append(bound, x)
		}
		return sql, bound
	}
	flip := rapid.Bool().Draw(t, "not")
	word := ""
	if flip {
		word = "NOT "
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "column":
		return c.name, &plan.Col{ID: plan.ColID(i + 1), T: c.t}
	case "case":
		text, x := "CASE", &plan.Case{T: c.t}
		for range rapid.IntRange(1, 2).Draw(t, "whens") {
			cs, cx := sub(1)
			rs, rx := sub(i)
			text += " WHEN " + cs + " THEN " + rs
			x.Whens = append(x.Whens, plan.When{Cond: cx, Result: rx})
		}
		if flip {
			es, ex := sub(i)
			text += " ELSE " + es
			x.Else = ex
		}
		return "(" + text + " END)", x
	case "coalesce":
		s, x := list(i, 1)
		return "coalesce(" + strings.Join(s, ", ") + ")", &plan.Coalesce{Args: x, T: c.t}
	case "minmax":
		s, x := list(i, 1)
		name := map[bool]string{true: "greatest", false: "least"}[flip]
		return name + "(" + strings.Join(s, ", ") + ")", &plan.MinMax{Greatest: flip, Args: x, T: c.t}
	case "distinct":
		j := anyColumn()
		ls, lx := sub(j)
		rs, rx := sub(j)
		return "(" + ls + " IS " + word + "DISTINCT FROM " + rs + ")", &plan.DistinctFrom{X: lx, Y: rx, Not: flip, Eq: compareFn("=")}
	case "logic":
		s, x := list(1, 2)
		op := rapid.SampledFrom([]plan.LogicOp{plan.And, plan.Or}).Draw(t, "op")
		return "(" + strings.Join(s, " "+string(op)+" ") + ")", &plan.Logic{Op: op, Args: x}
	case "not":
		s, x := sub(1)
		return "(NOT " + s + ")", &plan.Logic{Op: plan.Not, Args: []plan.Scalar{x}}
	case "is":
		s, x := sub(1)
		what := rapid.SampledFrom([]string{"TRUE", "FALSE", "UNKNOWN"}).Draw(t, "what")
		return "(" + s + " IS " + word + what + ")", &plan.Is{X: x, What: what, Not: flip}
	case "isnull":
		s, x := sub(anyColumn())
		return "(" + s + " IS " + word + "NULL)", &plan.Is{X: x, What: "NULL", Not: flip}
	case "in":
		j := anyColumn()
		s, x := sub(j)
		ls, lx := list(j, 1)
		return "(" + s + " " + word + "IN (" + strings.Join(ls, ", ") + "))", &plan.In{X: x, List: lx, Not: flip, Eq: compareFn("=")}
	case "compare":
		j := anyColumn()
		ls, lx := sub(j)
		rs, rx := sub(j)
		op := rapid.SampledFrom([]string{"=", "<", ">="}).Draw(t, "op")
		return "(" + ls + " " + op + " " + rs + ")", &plan.Call{Fn: compareFn(op), Args: []plan.Scalar{lx, rx}, T: sqltype.Bool}
	}
	v := rapid.SampledFrom(c.vals).Draw(t, "const")
	return literal(v, i), &plan.Const{Value: v, T: c.t}
}

// TestScalarsAgree: an expression gives what PostgreSQL gives, to the letter.
func TestScalarsAgree(t *testing.T) {
	agg, q := source()
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t, 1)
		i := rapid.IntRange(0, len(columns)-1).Draw(t, "result")
		text, x := expr(t, i, 3)
		want, state, err := ask("SELECT " + text + " FROM " + values(rows) + " ORDER BY n")
		if err != nil || state != "" {
			t.Fatalf("%s: %s %v", text, state, err)
		}
		root := &plan.Project{Input: agg, Items: []plan.Item{{ID: 50, Expr: x}}}
		if err := Check(root, func(n plan.Rel) bool { return n == plan.Rel(agg) }, nil); err != nil {
			t.Fatal(err)
		}
		got, err := Run(context.Background(), root, leafOf(agg, rows), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k := range rows {
			g, w := got.Rows[k][0], want[k][0]
			if (g == nil) != (w == nil) || g != nil && sqltype.FormatText(g, columns[i].t) != *w {
				t.Fatalf("%s over row %d %v: PostgreSQL %s, eval %v", text, k, rows[k], show(w), g)
			}
		}
	})
}

func show(s *string) string {
	if s == nil {
		return "NULL"
	}
	return fmt.Sprintf("%q", *s)
}

// TestPlansAgree: HAVING, DISTINCT, ORDER BY, LIMIT and OFFSET give PostgreSQL's rows in its order.
func TestPlansAgree(t *testing.T) {
	agg, q := source()
	n := plan.ColID(len(columns) + 1)
	q.Columns = append(q.Columns, plan.ColumnInfo{Name: "n", Type: sqltype.Int4})
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t, 6)
		cond, x := "true", plan.Scalar(&plan.Const{Value: true, T: sqltype.Bool})
		if rapid.Bool().Draw(t, "filtered") {
			cond, x = expr(t, 1, 2)
		}
		var keys []string
		sort := &plan.Sort{Input: &plan.Filter{Input: agg, Cond: x}}
		for range rapid.IntRange(1, 3).Draw(t, "keys") {
			i := rapid.IntRange(0, len(columns)-1).Draw(t, "key")
			k := plan.SortKey{Col: plan.ColID(i + 1), Desc: rapid.Bool().Draw(t, "desc"), NullsFirst: rapid.Bool().Draw(t, "nulls first")}
			text := columns[i].name
			if k.Desc {
				text += " DESC"
			}
			if text += " NULLS LAST"; k.NullsFirst {
				text = strings.TrimSuffix(text, "LAST") + "FIRST"
			}
			keys = append(keys, text)
			sort.Keys = append(sort.Keys, k)
		}
		limit := &plan.Limit{Input: sort}
		sql := "SELECT n FROM " + values(rows) + " WHERE " + cond + " ORDER BY " + strings.Join(append(keys, "n"), ", ")
		for _, end := range []struct {
			word string
			to   *plan.Scalar
		}{{"LIMIT", &limit.Count}, {"OFFSET", &limit.Offset}} {
			v := rapid.SampledFrom([]sqltype.Value{"none", "none", "none", "none", "none", "none", nil, int64(0), int64(1), int64(3), int64(math.MaxInt64), int64(-1)}).Draw(t, end.word)
			if v == "none" {
				continue
			}
			*end.to = &plan.Const{Value: v, T: sqltype.Int8}
			if v == nil {
				sql += " " + end.word + " NULL"
			} else {
				sql += fmt.Sprintf(" %s %d", end.word, v)
			}
		}
		want, state, err := ask(sql)
		if err != nil {
			t.Fatal(err)
		}
		var numbered [][]sqltype.Value
		for i, r := range rows {
			numbered = append(numbered, append(append([]sqltype.Value(nil), r...), int64(i)))
		}
		leaf := func(x plan.Rel) (*Relation, bool) {
			return &Relation{Cols: append(agg.Cols(), n), Rows: numbered}, x == plan.Rel(agg)
		}
		got, err := Run(context.Background(), limit, leaf, q, nil)
		var e *sqlerr.Error
		if errors.As(err, &e) != (state != "") || state != "" && e.Code != state {
			t.Fatalf("%s: PostgreSQL %q, eval %v", sql, state, err)
		}
		if state != "" {
			return
		}
		var g, w []string
		for _, r := range got.Rows {
			g = append(g, fmt.Sprint(r[len(columns)]))
		}
		for _, r := range want {
			w = append(w, *r[0])
		}
		if strings.Join(g, " ") != strings.Join(w, " ") {
			t.Fatalf("%s: PostgreSQL %v, eval %v", sql, w, g)
		}
	})
}

// TestDistinctAgrees: what is one row to PostgreSQL is one row here; which spelling of it is kept is not said.
func TestDistinctAgrees(t *testing.T) {
	agg, q := source()
	rapid.Check(t, func(t *rapid.T) {
		rows := drawRows(t, 1)
		var names []string
		project := &plan.Project{Input: agg}
		for i, c := range columns {
			if rapid.Bool().Draw(t, "with "+c.name) {
				names = append(names, c.name)
				project.Items = append(project.Items, plan.Item{ID: plan.ColID(i + 1), Expr: &plan.Col{ID: plan.ColID(i + 1), T: c.t}})
			}
		}
		if len(names) == 0 {
			return
		}
		want, _, err := ask("SELECT DISTINCT " + strings.Join(names, ", ") + " FROM " + values(rows))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Run(context.Background(), &plan.Distinct{Input: project}, leafOf(agg, rows), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		key := func(row []sqltype.Value) string {
			var k []byte
			for i, v := range row {
				k = appendKey(k, v, project.Items[i].Expr.Type().OID == sqltype.OIDBPChar)
			}
			return string(k)
		}
		mine := map[string]bool{}
		for _, r := range got.Rows {
			mine[key(r)] = true
		}
		if len(mine) != len(want) || len(got.Rows) != len(want) {
			t.Fatalf("PostgreSQL has %d rows, eval %d: %v", len(want), len(got.Rows), got.Rows)
		}
		for _, r := range want {
			row := make([]sqltype.Value, len(r))
			for i, s := range r {
				if s == nil {
					continue
				}
				if row[i], err = sqltype.ParseText(*s, project.Items[i].Expr.Type()); err != nil {
					t.Fatal(err)
				}
			}
			if !mine[key(row)] {
				t.Fatalf("eval has no row %v", row)
			}
		}
	})
}
