package tpc

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/backend/duckdb"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/engine"
	"github.com/dpsql/dpsql/rewrite/pgsyntax"
)

// TestPricesOfQ1: TPC-H Q1 is answered at every price from 0.01 on, with declared numbers of rows and with automatic ones, of columns that may be NULL too. Sums whose noise cannot be
// drawn are refused either way, with the price at which they pass. No row is needed for that.
func TestPricesOfQ1(t *testing.T) {
	ctx := context.Background()
	b := Bench{Name: "tpch"}
	queries, err := b.Queries()
	if err != nil {
		t.Fatal(err)
	}
	q1 := queries[0].Text
	for _, nullable := range []bool{false, true} {
		for _, auto := range []bool{false, true} {
			w := b.empty(ctx, t, nullable, auto)
			for _, price := range []string{"0.01", "0.8", "1"} {
				if err := w.Session.Set("dpsql.price", []string{price}); err != nil {
					t.Fatal(err)
				}
				if f := w.Ask(ctx, "EXPLAIN "+q1); f.How != "answered" {
					t.Errorf("nullable %v, auto %v, price %s: %s", nullable, auto, price, f)
				}
			}
			if f := w.Ask(ctx, q1); f.How != "answered" {
				t.Errorf("nullable %v, auto %v: %s", nullable, auto, f)
			}
			if err := w.Session.Set("dpsql.price", []string{"0.001"}); err != nil {
				t.Fatal(err)
			}
			const wide = "SELECT sum(l_linenumber * 1000000000000) FROM lineitem"
			for _, text := range []string{"EXPLAIN " + wide, wide} {
				hint := w.hint(ctx, t, text)
				m := regexp.MustCompile(`^SET dpsql.price = ([0-9.]+),`).FindStringSubmatch(hint)
				if m == nil {
					t.Fatalf("auto %v: %s: hint %q", auto, text, hint)
				}
				if err := w.Session.Set("dpsql.price", m[1:]); err != nil {
					t.Fatal(err)
				}
				if f := w.Ask(ctx, text); f.How != "answered" {
					t.Errorf("auto %v, after the hint %q: %s", auto, hint, f)
				}
				if err := w.Session.Set("dpsql.price", []string{"0.001"}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// hint is that of the noise that is too large.
func (w *World) hint(ctx context.Context, t *testing.T, text string) string {
	t.Helper()
	st, err := pgsyntax.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.Prepare(ctx, w.Session, st[0], nil)
	if err == nil {
		_, err = p.Run(ctx, nil)
	}
	var e *sqlerr.Error
	if !errors.As(err, &e) || e.ID != sqlerr.NoiseTooLarge.ID {
		t.Fatalf("%s: %v", text, err)
	}
	return e.Hint
}

var rowsDeclared = regexp.MustCompile(`(?m)^    max_rows_per_unit: \d+$`)

// empty is the policy over tables without rows.
func (b Bench) empty(ctx context.Context, t *testing.T, nullable, auto bool) *World {
	t.Helper()
	create, keys, _, err := b.schema()
	if err != nil {
		t.Fatal(err)
	}
	if nullable {
		create = regexp.MustCompile(`(numeric\(15,2\)|date) NOT NULL`).ReplaceAllString(create, "$1")
	}
	path := filepath.Join(t.TempDir(), "empty.duckdb")
	if err := build(path, create, nil, keys); err != nil {
		t.Fatal(err)
	}
	over, err := duckdb.Open(ctx, path, duckdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := Verifier()
	if err != nil {
		t.Fatal(err)
	}
	text, err := b.Policy("duckdb", path, verifier)
	if err != nil {
		t.Fatal(err)
	}
	if auto {
		text = []byte(rowsDeclared.ReplaceAllString(string(text), "    max_rows_per_unit: auto"))
	}
	w, err := Open(ctx, []byte(strings.ReplaceAll(string(text), "may: [", "max_query_price: 1000, may: [")), "bench", over)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}
