package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// shapeTables have NULLs, ties, duplicates, negative numbers, and one has no rows.
const shapeTables = `DROP TABLE IF EXISTS t, u, e;
CREATE TABLE t (id int PRIMARY KEY, g text, h int, n numeric, x float8, b bool, d date, c char(3), big bigint, sm smallint, r real);
INSERT INTO t VALUES (1, 'a', 1, 1.50, 0.5, true, '2024-01-01', 'x', 10, 1, 0.5), (2, 'a', 2, -1.5, -2.25, false, '2024-01-03', 'x ', -3, 2, 1.5), (3, 'a', 2, 1.50, NULL, NULL, NULL, 'y', NULL, NULL, NULL),
	(4, 'b', NULL, 7, 0.5, true, '2023-12-31', NULL, 9000000000, -5, -0.25), (5, 'b', -4, NULL, 8, false, '2024-01-01', 'z', 10, 7, 3), (6, NULL, 1, 0.001, 1.25, true, '2024-02-29', 'x', 0, 0, 0.5),
	(7, NULL, NULL, 12345678.25, -0.5, NULL, NULL, 'y', 7, 1, 2), (8, 'c', 5, 3, 0.5, true, '2024-01-05', '', 7, 3, 0.5), (9, 'B', 5, -0.75, 16, false, '2024-01-02', 'x', -3, 3, -8), (10, 'a', 1, 3, 2, true, '2024-01-01', 'y', 1, NULL, 1);
CREATE TABLE u (id int PRIMARY KEY, k int, v bigint, w numeric(10,2), s text);
INSERT INTO u VALUES (1, 1, 5, 1.50, 'a'), (2, 1, 5, 1.50, 'a'), (3, 2, -7, NULL, 'b'), (4, NULL, 5, 3.25, NULL), (5, 5, NULL, -2.00, 'a'), (6, 9, 8, 0.00, 'c'), (7, 1, 2, 1.50, 'B');
CREATE TABLE e (id int PRIMARY KEY, k int, v bigint, w numeric(10,2), s text)`

// shapes is the catalog of the tables, and their rows.
type shapes struct {
	tables map[string]*plan.Table
	rows   map[*plan.Table][][]sqltype.Value
	bug    func(plan.Rel) // planted into each node; nil for none
}

func (s *shapes) Table(_, name string) (*plan.Table, bool) { t, ok := s.tables[name]; return t, ok }
func (s *shapes) VisibleTables() []*plan.Table             { return nil }

func newShapes(t testing.TB) *shapes {
	t.Helper()
	if _, err := pg.PgConn().Exec(context.Background(), shapeTables).ReadAll(); err != nil {
		t.Fatal(err)
	}
	s := &shapes{tables: map[string]*plan.Table{}, rows: map[*plan.Table][][]sqltype.Value{}}
	for i, name := range []string{"t", "u", "e"} {
		table := &plan.Table{OID: uint32(40000 + i), Schema: "public", Name: name, Public: true, UnitCol: -1, Keys: [][]int{{0}}}
		res, err := pg.PgConn().Exec(context.Background(), "SELECT * FROM "+name+" ORDER BY id").ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(res[0].Rows) == 0 { // pgx describes no empty answers
			table.Columns = s.tables["u"].Columns
		} else {
			for _, f := range res[0].FieldDescriptions {
				table.Columns = append(table.Columns, plan.TableColumn{Name: f.Name, Type: sqltype.Type{OID: sqltype.OID(f.DataTypeOID), Typmod: f.TypeModifier}, Visible: true, NotNull: f.Name == "id"})
			}
		}
		for _, r := range res[0].Rows {
			row := make([]sqltype.Value, len(r))
			for j, text := range r {
				if text == nil {
					continue
				}
				if row[j], err = sqltype.ParseText(string(text), table.Columns[j].Type); err != nil {
					t.Fatal(err)
				}
			}
			s.rows[table] = append(s.rows[table], row)
		}
		s.tables[name] = table
	}
	return s
}

// leaf gives the tables' rows.
func (s *shapes) leaf(n plan.Rel) (*Relation, bool) {
	sc, ok := n.(*plan.Scan)
	if !ok {
		return nil, false
	}
	return &Relation{Cols: sc.Columns, Rows: s.rows[sc.Table]}, true
}

// run is eval's answer as text, "\N" for NULL.
func (s *shapes) run(sql string) ([][]string, []sqltype.Type, error) {
	return s.runIn(context.Background(), sql)
}

func (s *shapes) runIn(ctx context.Context, sql string) ([][]string, []sqltype.Type, error) {
	st, err := pgsyntax.Parse(sql)
	if err != nil {
		return nil, nil, err
	}
	q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), s, plan.BindOptions{})
	if err != nil {
		return nil, nil, err
	}
	if s.bug != nil {
		plan.VisitRels(q.Root, func(n plan.Rel) bool { s.bug(n); return true })
	}
	checked := Check(q.Root, func(n plan.Rel) bool { _, ok := n.(*plan.Scan); return ok }, q)
	got, err := Run(ctx, q.Root, s.leaf, q, nil)
	if checked != nil {
		return nil, nil, checked
	}
	if err != nil {
		return nil, nil, err
	}
	at := scopeOf(got.Cols)
	var out [][]string
	for _, r := range got.Rows {
		var row []string
		for _, o := range q.Outputs {
			text := `\N`
			if v := r[at[o.Col]]; v != nil {
				text = sqltype.FormatText(v, o.Type)
			}
			row = append(row, text)
		}
		out = append(out, row)
	}
	var types []sqltype.Type
	for _, o := range q.Outputs {
		types = append(types, o.Type)
	}
	return out, types, nil
}

// differs says how eval's answer is another than PostgreSQL's; refused is the reason where eval has none. Rows that no ORDER BY
// sorts are compared as a multiset.
func (s *shapes) differs(t testing.TB, sql string) (diff, refused string) {
	t.Helper()
	rows, state, err := ask(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	got, types, err := s.run(sql)
	var e *sqlerr.Error
	switch {
	case errors.As(err, &e) && e.Code == state:
		return "", ""
	case errors.As(err, &e) && e.Code == "0A000":
		return "", e.Message
	case err != nil || state != "":
		return fmt.Sprintf("PostgreSQL %q, eval %v", state, err), ""
	}
	var want [][]string
	for _, r := range rows {
		var row []string
		for _, v := range r {
			if v == nil {
				row = append(row, `\N`)
			} else {
				row = append(row, *v)
			}
		}
		want = append(want, row)
	}
	if !strings.Contains(sql, "/* sorted */") {
		slices.SortFunc(got, slices.Compare)
		slices.SortFunc(want, slices.Compare)
	}
	if len(got) == len(want) {
		same := true
		for i := range got {
			for j := range got[i] {
				same = same && (got[i][j] == want[i][j] || types[j].IsFloat() && closeTo(got[i][j], want[i][j]))
			}
		}
		if same {
			return "", ""
		}
	}
	return fmt.Sprintf("PostgreSQL %v\n      eval %v", want, got), ""
}

// closeTo: PostgreSQL may add floats in another order.
func closeTo(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && math.Abs(x-y) <= 1e-12*math.Max(1, math.Abs(y))
}

// TestShapesAgree: statements of every shape give PostgreSQL's rows, or are refused by name, never others.
func TestShapesAgree(t *testing.T) {
	s := newShapes(t)
	n := 1500
	if os.Getenv("DPSQL_LONG") != "" {
		n = 100_000
	}
	g := &generator{Rand: rand.New(rand.NewPCG(6, 6))}
	refused := map[string]int{}
	no, wrong := 0, 0
	for range n {
		sql := g.query(2)
		diff, why := s.differs(t, sql)
		if why != "" {
			refused[why]++
			no++
		}
		if diff == "" {
			continue
		}
		t.Errorf("%s\n%s", sql, diff)
		if wrong++; wrong > 5 {
			t.FailNow()
		}
	}
	if t.Logf("%d statements, refused: %v", n, refused); no > n/50 {
		t.Errorf("%d of %d are refused", no, n)
	}
}

// TestPlantedShapes: the statements would show an evaluation that is wrong in one place.
func TestPlantedShapes(t *testing.T) {
	s := newShapes(t)
	for name, bug := range map[string]func(plan.Rel){
		"NULL first where it is last, in windows": inWindows(func(it *plan.WindowItem) {
			for i := range it.Order {
				it.Order[i].NullsFirst = !it.Order[i].NullsFirst
			}
		}),
		"rank counts peers once":       inWindows(func(it *plan.WindowItem) { renamed(it, "rank", "dense_rank") }),
		"ties have ranks of their own": inWindows(func(it *plan.WindowItem) { renamed(it, "rank", "row_number") }),
		"RANGE without peers": inWindows(func(it *plan.WindowItem) {
			if it.Frame == nil && len(it.Order) > 0 {
				it.Frame = &plan.Frame{Mode: "ROWS", Start: plan.FrameEnd{Kind: fromFirst}, End: plan.FrameEnd{Kind: currentRow}}
			}
		}),
		"EXCLUDE forgotten": inWindows(func(it *plan.WindowItem) {
			if it.Frame != nil {
				it.Frame.Exclude = ""
			}
		}),
		"ALL forgotten": func(n plan.Rel) {
			if op, ok := n.(*plan.SetOp); ok && op.Op != union {
				op.All = false
			}
		},
		"EXCEPT the other way": func(n plan.Rel) {
			if op, ok := n.(*plan.SetOp); ok && op.Op == except {
				op.Left, op.Right, op.LeftCols, op.RightCols = op.Right, op.Left, op.RightCols, op.LeftCols
			}
		},
		"DISTINCT ON without its order": func(n plan.Rel) {
			if on, ok := n.(*plan.DistinctOn); ok {
				on.Input.(*plan.Sort).Keys = nil
			}
		},
		"ties cut off": func(n plan.Rel) {
			if l, ok := n.(*plan.Limit); ok {
				l.Ties = false
			}
		},
		"a full join is a left one": func(n plan.Rel) {
			if j, ok := n.(*plan.Join); ok && j.Kind == plan.FullJoin {
				j.Kind = plan.LeftJoin
			}
		},
		"FILTER forgotten": func(n plan.Rel) {
			if a, ok := n.(*plan.Aggregate); ok {
				for i := range a.Aggs {
					a.Aggs[i].Filter = nil
				}
			}
		},
		"GROUPING the other way": func(n plan.Rel) {
			if a, ok := n.(*plan.Aggregate); ok {
				for i := range a.Groupings {
					slices.Reverse(a.Groupings[i].Cols)
				}
			}
		},
		"DISTINCT forgotten in aggregates": func(n plan.Rel) {
			if a, ok := n.(*plan.Aggregate); ok {
				for i := range a.Aggs {
					a.Aggs[i].Distinct = false
				}
			}
		},
	} {
		g := &generator{Rand: rand.New(rand.NewPCG(6, 6))}
		s.bug = bug
		found := false
		for i := 0; i < 1500 && !found; i++ {
			diff, _ := s.differs(t, g.query(2))
			found = diff != ""
		}
		if !found {
			t.Errorf("%s: nothing shows it", name)
		}
	}
}

func inWindows(f func(*plan.WindowItem)) func(plan.Rel) {
	return func(n plan.Rel) {
		if w, ok := n.(*plan.Window); ok {
			for i := range w.Items {
				f(&w.Items[i])
			}
		}
	}
}

func renamed(it *plan.WindowItem, from, to plan.AggFunc) {
	if it.Fn == from {
		it.Fn = to
	}
}

// TestShapeErrors: what PostgreSQL refuses while it runs, eval refuses with the same code.
func TestShapeErrors(t *testing.T) {
	s := newShapes(t)
	for sql, code := range map[string]string{
		"select (select k from u)":                                                                                                  "21000",
		"select ntile(0) over (order by id) from t":                                                                                 "22014",
		"select nth_value(h, 0) over (order by id) from t":                                                                          "22016",
		"select sum(h) over (rows null preceding) from t":                                                                           "22004",
		"select sum(h) over (rows null preceding) from e u(h)":                                                                      "22004",
		"select sum(h) over (rows -1 preceding) from t":                                                                             "22013",
		"select sum(h) over (order by id groups between 1 preceding and -1 following) from t":                                       "22013",
		"select sum(h) over (order by id range -1 preceding) from t":                                                                "22013",
		"select sum(h) over (order by n range -1 preceding) from t":                                                                 "22013",
		"select sum(h) over (order by x range 'NaN'::float8 preceding) from t":                                                      "22013",
		"select sum(h) over (groups 1 preceding) from t":                                                                            "42P20",
		"select sum(h) over (order by id, h range 1 preceding) from t":                                                              "42P20",
		"select sum(h) over (range 1 preceding) from t":                                                                             "42P20",
		"select percentile_cont(1.5) within group (order by x) from t":                                                              "22003",
		"select percentile_disc(-0.5) within group (order by id) from t":                                                            "22003",
		"select sum(x * 1e308) from t":                                                                                              "22003",
		"select avg(x * 1e308) from t where x > 0":                                                                                  "22003",
		"select sum(9e18::bigint * (h / h)) from t":                                                                                 "",
		"select id, 1 / h from t where exists (select 1 / 0 from u)":                                                                "",
		"select h = any (select 1 / (k - k) from e) from t":                                                                         "",
		"select coalesce(1, (select k from u))":                                                                                     "",
		"select array[h, id, null], array[array[h], array[id]], array[array[[h]], array[[id]]], array[array[]::int[], null] from t": "",
		"select array[array[h], array[id, h]] from t":                                                                               "2202E",
		"select array[array[h], null] from t":                                                                                       "2202E",
		"select array[null, array[h]] from t":                                                                                       "2202E",
		"select array[]::int[], array[array[1], '{}'] from t":                                                                       "2202E",
		"select sum(h) over (order by d range '-1 day' preceding) from t":                                                           "22013",
		"select sum(h) over (order by d range '9999999 months' preceding) from t":                                                   "22008",
		"select id, count(*) over (order by d range between '1 month' preceding and interval '2 days' following) from t":            "",
		"select d, count(*) over (order by d desc nulls last range between '1 month' preceding and '36 hours' following exclude current row) from t":                                 "",
		"select count(*) over (order by v range '30 days' preceding) from (values (timestamp '2024-03-31 12:00'), ('2024-02-29'), ('2024-03-01 12:00'), (null), ('infinity')) q (v)": "",
		"select count(*) over (order by n range '1.5' preceding), count(*) over (order by x range '1.5' preceding) from t":                                                           "",
		"select lag(10 / id) over (order by id) from t":                                                                                                                                             "",
		"select sum(x) over (order by x range between 'Infinity'::float8 preceding and 'Infinity'::float8 following) from t":                                                                        "",
		"select sum(h) over (order by big range between 9223372036854775807 preceding and 9223372036854775807 following) from t":                                                                    "",
		"select count(*) over (order by v range between 1 preceding and 1 following) from (values ('NaN'::float8), (1), (null), ('Infinity'), ('-Infinity'), (1.5), ('NaN')) q (v)":                 "",
		"select v, count(*) over (order by v desc range between 1 preceding and 'Infinity'::float8 following) from (values ('NaN'::float8), (1), (null), ('Infinity'), ('-Infinity'), (1.5)) q (v)": "",
	} {
		_, state, err := ask(sql)
		if err != nil || state != code {
			t.Errorf("%s: PostgreSQL %q %v, not %q", sql, state, err, code)
		}
		if diff, refused := s.differs(t, sql); diff != "" || refused != "" {
			t.Errorf("%s\n%s%s", sql, diff, refused)
		}
	}
}

// TestShapesRefused: what has no evaluation is refused by name and position before anything runs.
func TestShapesRefused(t *testing.T) {
	s := newShapes(t)
	for sql, want := range map[string]string{
		"select id, sum(h) over (order by d::timestamptz range '1 day' preceding) from t":      "RANGE with offset PRECEDING/FOLLOWING cannot be computed over released values for column type timestamp with time zone",
		"select count(*), json_agg(h) from t":                                                  "aggregate json_agg cannot be computed",
		"select rank(1) within group (order by h) from t":                                      "aggregate rank cannot be computed",
		"select json_agg(h) over () from t":                                                    "window function json_agg cannot be computed",
		"select avg(d - date '2024-01-01') filter (where b), avg(interval '1 day' * h) from t": "aggregate avg cannot be computed",
		"select dp_error(count(*)) from t":                                                     "dp_error is of an aggregate over private rows",
	} {
		_, _, err := s.run(sql)
		var e *sqlerr.Error
		if !errors.As(err, &e) || !strings.Contains(e.Message, want) || e.Pos == 0 {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
}

// TestWindowsAreLinear: over the default frame each row is taken in once, however many there are.
func TestWindowsAreLinear(t *testing.T) {
	s := newShapes(t)
	work := func(rows int) int {
		s.rows[s.tables["u"]] = nil
		for i := range rows {
			s.rows[s.tables["u"]] = append(s.rows[s.tables["u"]], []sqltype.Value{int64(i), int64(i / 2), int64(1), nil, nil})
		}
		st, err := pgsyntax.Parse("select sum(v) over (order by k), sum(v) over (order by k range between unbounded preceding and 2 following), count(*) over (), max(v) over (order by id rows unbounded preceding) from u")
		if err != nil {
			t.Fatal(err)
		}
		q, err := plan.Bind(st[0].Node.(*pgsyntax.Select), s, plan.BindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c := newCompiler(q, func(n plan.Rel) (step, bool) {
			r, ok := s.leaf(n)
			if !ok {
				return step{}, false
			}
			return step{cols: r.Cols, rows: func(*machine) ([][]sqltype.Value, error) { return r.Rows, nil }}, true
		})
		root, err := c.rel(q.Root)
		if err != nil {
			t.Fatal(err)
		}
		m := c.machine(context.Background(), nil)
		if _, err := root.rows(m); err != nil {
			t.Fatal(err)
		}
		return m.count
	}
	if few, many := work(1000), work(10_000); many > 11*few {
		t.Errorf("%d steps for 1000 rows, %d for 10000", few, many)
	}
}

// TestMadeIsLimited: a statement of a few rows cannot make any number of values.
func TestMadeIsLimited(t *testing.T) {
	s := newShapes(t)
	for _, sql := range []string{
		"select count(*) from t a, t b, t c, t d, t e, t f, t g, t h",
		"select count(distinct lpad('x', 60000, 'x') || a.h) from t a, t b, t c",
		"select length(string_agg(lpad('x', 60000, 'x'), '')) from t a, t b",
		"with a as (select x.h from t x, t y, t z), b as (select array_agg(h) over (rows unbounded preceding) v from (select x.h from a x, t y, t z) q) select count(*) from b",
	} {
		if _, _, err := s.run(sql); sqlerr.ID(err) != sqlerr.TooComplex.ID {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestConditionsArePushed: of FROM a, b WHERE the rows that are made are those that the condition keeps, also where subqueries stand beside it.
func TestConditionsArePushed(t *testing.T) {
	s := newShapes(t)
	const from = "select count(*) from t a, t b, t c, t d, t e, t f, t g, t h where a.id = b.id and b.id = c.id and c.id = d.id and d.id = e.id and e.id = f.id and f.id = g.id and g.id = h.id and a.h + b.h > 2"
	for _, sql := range []string{from, from + " and h.id in (select k from u) and a.id + h.id > (select min(id) from u)"} {
		rows, _, err := s.run(sql)
		if err != nil || len(rows) != 1 {
			t.Errorf("%s: %v, %v", sql, rows, err)
		}
	}
}
