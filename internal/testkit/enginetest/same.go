package enginetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// ClinicText is PostgreSQL before the tame clinic, whose answers for a text are the truth.
func ClinicText(t testing.TB) *neighbour.Postgres {
	t.Helper()
	ctx := context.Background()
	Tame.Open(t, funcs.Postgres) // makes the database
	conn, err := pgconn.Connect(ctx, SharedServer(t).URL("clinic_tame"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return &neighbour.Postgres{Conn: conn}
}

// SameAsTexts checks that with noise of scale nothing and room for all rows and groups the statements' answers are what PostgreSQL gives for their texts, in order where they end with one.
func SameAsTexts(t testing.TB, on []dialect.Dialect, statements ...string) {
	t.Helper()
	db := ClinicText(t)
	for _, d := range on {
		s := ClinicSession(t, Tame, d, Roomy...)
		Set(t, s, "dpsql.max_groups", "1000")
		for _, sql := range statements {
			SameAsText(t, db, s, sql, strings.LastIndex(sql, "order by") > strings.LastIndex(sql, ")"))
		}
	}
}

// AsFloat is a number's value.
func AsFloat(t *testing.T, v sqltype.Value) float64 {
	t.Helper()
	d, ok := AsDecimal(v)
	if !ok {
		t.Fatalf("%v is no number", v)
	}
	return d.InexactFloat64()
}

// SameAsText compares the un-noised answer with PostgreSQL's for the text, row by row where it is sorted.
func SameAsText(t testing.TB, db *neighbour.Postgres, s *session.Session, sql string, sorted bool) {
	t.Helper()
	ctx := context.Background()
	p, err := Prepare(s, sql)
	if err != nil {
		t.Errorf("%s: %v", sql, err)
		return
	}
	got, err := Computed(t, p)
	if err != nil {
		t.Errorf("%s: %v", sql, err)
		return
	}
	var types []sqltype.Type
	for _, c := range p.Columns() {
		types = append(types, c.Type)
	}
	want, err := db.Text(ctx, sql, types)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	tolerance := decimal.Zero
	for _, m := range MeasuresOf(p) {
		if m.Rounded {
			tolerance = decimal.Max(tolerance, m.Grid.Mul(decimal.NewFromInt(200)))
		}
	}
	if !sorted {
		SortRows(got, types)
		SortRows(want, types)
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d rows, PostgreSQL has %d\n%v\n%v", sql, len(got), len(want), got, want)
		return
	}
	for i := range got {
		for j := range got[i] {
			if !Near(got[i][j], want[i][j], types[j], tolerance) {
				t.Errorf("%s: row %d, column %d is %s, PostgreSQL has %s", sql, i+1, j+1, Spelled(got[i][j], types[j]), Spelled(want[i][j], types[j]))
			}
		}
	}
}

// SortRows sorts rows by their texts.
func SortRows(rows [][]sqltype.Value, types []sqltype.Type) {
	slices.SortFunc(rows, func(a, b []sqltype.Value) int { return strings.Compare(SpelledRow(a, types), SpelledRow(b, types)) })
}

// SpelledRow is a row's text.
func SpelledRow(r []sqltype.Value, types []sqltype.Type) string {
	var out []string
	for i, v := range r {
		out = append(out, Spelled(v, types[i]))
	}
	return strings.Join(out, "|")
}

// Spelled is a value's text.
func Spelled(v sqltype.Value, t sqltype.Type) string {
	if v == nil {
		return "NULL"
	}
	return sqltype.FormatText(v, t)
}

// Near says that two values are the same, within a tolerance if they are numbers.
func Near(a, b sqltype.Value, t sqltype.Type, tolerance decimal.Decimal) bool {
	if Spelled(a, t) == Spelled(b, t) {
		return true
	}
	x, ok1 := AsDecimal(a)
	y, ok2 := AsDecimal(b)
	if f, ok := b.(float64); ok { // a float's last digits are the order of PostgreSQL's own additions
		tolerance = tolerance.Add(decimal.NewFromFloat(1e-12 * (1 + max(f, -f))))
	}
	return ok1 && ok2 && x.Sub(y).Abs().LessThanOrEqual(tolerance)
}

// AsDecimal is a number's value, or an interval's seconds with months of 30 days, by which PostgreSQL compares intervals.
func AsDecimal(v sqltype.Value) (decimal.Decimal, bool) {
	if i, ok := v.(sqltype.Interval); ok {
		days := int64(i.Months)*30 + int64(i.Days)
		return decimal.New(i.Micros, -6).Add(decimal.NewFromInt(days * 86400)), true
	}
	d, err := decimal.NewFromString(fmt.Sprint(v))
	return d, err == nil
}
