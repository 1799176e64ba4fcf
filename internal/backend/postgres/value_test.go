package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/backend/postgres"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/testkit/backendtest"
)

// Numerics of any size read and are bound with every digit and their display scale.
func TestNumerics(t *testing.T) {
	d := open(t, "postgres", postgres.Options{})
	texts := []string{"0", "0.0", "0.000000", "1", "-1", "10000", "9999", "99990000", "0.0001", "0.00010", "100000000.00000001", "-0.5", "12345.6789",
		"1e50", "-1e-50", strings.Repeat("9", 1000) + "." + strings.Repeat("9", 1000), "1e131071", "1e-16383", "123.4500"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		whole, part := r.IntN(30), r.IntN(30)
		var b strings.Builder
		for range whole + 1 {
			fmt.Fprint(&b, r.IntN(10)*r.IntN(2))
		}
		b.WriteByte('.')
		for range part + 1 {
			fmt.Fprint(&b, r.IntN(10)*r.IntN(2))
		}
		texts = append(texts, b.String())
	}
	for _, text := range texts {
		rows, err := backendtest.Ask(t.Context(), d, "SELECT n, CAST(n AS text) FROM (SELECT CAST($1 AS numeric) AS n) AS s",
			[]backend.Arg{{Type: sqltype.Text, Value: text}}, sqltype.Numeric, sqltype.Text)
		if err != nil {
			t.Fatalf("%.40s: %s", text, backendtest.Cause(err))
		}
		n, shown := rows[0][0].(decimal.Decimal), rows[0][1].(string)
		if got := n.StringFixed(-n.Exponent()); got != shown {
			t.Errorf("read %.60s, PostgreSQL shows %.60s", got, shown)
		}
		back, err := backendtest.Ask(t.Context(), d, "SELECT CAST($1 AS text)", []backend.Arg{{Type: sqltype.Numeric, Value: n}}, sqltype.Text)
		if err != nil || back[0][0] != shown {
			t.Errorf("bound %.60s, it arrived as %v, %v", shown, back, err)
		}
	}
	for _, text := range []string{"NaN", "Infinity", "-Infinity"} {
		_, err := backendtest.Ask(t.Context(), d, "SELECT CAST('"+text+"' AS numeric)", nil, sqltype.Numeric)
		if class(err) != backend.FailOther {
			t.Errorf("numeric %s: got %v", text, err)
		}
	}
	rows, err := backendtest.Ask(t.Context(), d, "SELECT CAST(7 AS numeric), CAST(9 AS bigint), CAST(4000000000 AS oid)", nil,
		sqltype.Int8, sqltype.Numeric, sqltype.Int8)
	if err != nil || rows[0][0] != int64(7) || !backendtest.Equal(rows[0][1], decimal.New(9, 0)) || rows[0][2] != int64(4_000_000_000) {
		t.Errorf("between integers and numerics: %v, %v", rows, err)
	}
	for _, sql := range []string{"SELECT 0.5", "SELECT 1e30"} {
		if _, err := backendtest.Ask(t.Context(), d, sql, nil, sqltype.Int8); class(err) != backend.FailOther {
			t.Errorf("%s as a bigint: %v", sql, err)
		}
	}
}

// TestUnreadable: a value that no Go value of its type holds is read as unreadable, and the rows behind it are read: whether a statement fails does not depend on what rows hold.
func TestUnreadable(t *testing.T) {
	d := open(t, "postgres", postgres.Options{})
	for _, c := range []struct {
		values string
		want   sqltype.Type
	}{
		{"(interval '-2562047788:00:54.775807')::time, time '01:00'", sqltype.Time}, // PostgreSQL 15 gives a time below 00:00
		{"numeric 'NaN', 1", sqltype.Numeric},
		{"numeric 'Infinity', 1", sqltype.Numeric},
		{"1.5, 1", sqltype.Int8},
		{"array[numeric 'NaN'], array[1.5]", sqltype.Type{OID: 1231, Typmod: -1}},
	} {
		tx, err := d.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows, err := tx.Query(t.Context(), "SELECT x FROM (SELECT unnest(array["+c.values+"]) AS x) AS v", nil, []sqltype.Type{c.want})
		if strings.HasPrefix(c.values, "array") {
			rows, err = tx.Query(t.Context(), "SELECT x FROM (VALUES (1, "+strings.Replace(c.values, ", ", "), (2, ", 1)+")) AS v(n, x) ORDER BY n", nil, []sqltype.Type{c.want})
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []bool
		for rows.Next() {
			got = append(got, secret.IsUnreadable(secret.Open(rows.Row()[0])))
		}
		if rows.Err() != nil || !slices.Equal(got, []bool{true, false}) {
			t.Errorf("%s: unreadable are %v, %v", c.values, got, rows.Err())
		}
		tx.Close()
	}
}
