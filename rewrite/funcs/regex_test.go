package funcs

import (
	"context"
	"errors"
	"math/rand"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

var patternParts = []string{"a", "b", "A", "-", "^", "]", "[", "[^", "[:alpha:]", "[:digit:]", "[:upper:]", "(", ")", "(?:", "|", "*", "+", "?", "*?", "{", "}", "{2}", "{1,2}", "{1,}", "{,2}", "{3,1}", "{0}", `\d`, `\w`, `\S`, `\.`, `\-`, `\]`, `\\`, ".",
	"$", "é", "日", "a-c", "-]", "[a", "[]", "b]", ",", "'", "1", "\n"}

// TestPatterns: a pattern that is taken is one that PostgreSQL takes, and so does DuckDB; it matches the same texts in all three, in another case, too. One that is
// called a mistake is PostgreSQL's mistake.
func TestPatterns(t *testing.T) {
	ctx := context.Background()
	conn, duck := connect(t), openDuck(t)
	if _, err := conn.Exec(ctx, `CREATE FUNCTION try(x text, p text) RETURNS text LANGUAGE plpgsql AS $f$ BEGIN RETURN x ~ p; EXCEPTION WHEN invalid_regular_expression THEN RETURN 'error'; END $f$;
		CREATE FUNCTION tryfold(x text, p text) RETURNS text LANGUAGE plpgsql AS $f$ BEGIN RETURN x ~* p; EXCEPTION WHEN invalid_regular_expression THEN RETURN 'error'; END $f$`); err != nil {
		t.Fatal(err)
	}
	texts := []string{"", "a", "b", "ab", "aab", "Ab-c", "a]b", "1", "é", "日a", "a.b", `\`, "'", "a\nb", "{2}", "a,b", "^a"}
	if _, err := duck.ExecContext(ctx, "CREATE TEMP TABLE texts(n INTEGER, x VARCHAR)"); err != nil {
		t.Fatal(err)
	}
	for i, x := range texts {
		if _, err := duck.ExecContext(ctx, "INSERT INTO texts VALUES (?, ?)", i, x); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewSource(5)) //nolint:gosec // a test's cases
	n, taken := 1500, 0
	if long() {
		n = 40_000
	}
	for k := range n {
		p := ""
		for range 1 + r.Intn(7) {
			p += patternParts[r.Intn(len(patternParts))]
		}
		fold, name := k%3 == 0, "try"
		if fold {
			name = "tryfold"
		}
		op := "~"
		if fold {
			op = "~*"
		}
		f, refused := matched(op, text).With(Constants{Values: []sqltype.Value{p}})
		var want []string
		if err := conn.QueryRow(ctx, "SELECT array_agg("+name+"(x, $1) ORDER BY n) FROM unnest($2::text[]) WITH ORDINALITY AS u(x, n)", p, texts).Scan(&want); err != nil {
			if e := (*pgconn.PgError)(nil); errors.As(err, &e) {
				t.Fatalf("%q: %v", p, err)
			}
			t.Fatal(err)
		}
		bad := want[0] == "error"
		switch {
		case refused != nil && sqlerr.ID(refused) == sqlerr.Unsupported.ID:
			continue
		case refused != nil:
			if !bad {
				t.Errorf("%q: %v, and PostgreSQL takes it", p, refused)
			}
			continue
		case bad:
			t.Errorf("%q is taken, and PostgreSQL refuses it", p)
			continue
		}
		taken++
		rows, err := duck.QueryContext(ctx, "SELECT "+f.TotalForm.Print(DuckDB, []string{"x", ""}, types(f), sqltype.Bool)+" FROM texts ORDER BY n")
		if err != nil {
			t.Fatalf("%q: %v", p, err)
		}
		for i, x := range texts {
			var got bool
			if !rows.Next() || rows.Scan(&got) != nil {
				t.Fatalf("%q: %v", p, rows.Err())
			}
			if fold && strings.IndexFunc(x+p, func(c rune) bool { return c > 127 }) >= 0 { // a cluster of locale C folds ASCII only
				continue
			}
			mine, err := f.Eval([]sqltype.Value{x, p}, types(f), sqltype.Bool)
			if err != nil {
				t.Fatal(err)
			}
			if wanted := want[i] == "true"; mine != wanted || got != wanted {
				t.Errorf("%q of %q: Go %v, DuckDB %v, PostgreSQL %v", p, x, mine, got, wanted)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if taken < n/5 {
		t.Errorf("only %d of %d patterns are taken", taken, n)
	}
}

// TestLongPatterns: what would take long to compile is refused before it is.
func TestLongPatterns(t *testing.T) {
	for p, want := range map[string]string{"[" + strings.Repeat("ab", 9_000) + "]": "", "[" + strings.Repeat("ab", 10_000) + "]": sqlerr.Unsupported.ID} {
		if _, err := matched("~", text).With(Constants{Values: []sqltype.Value{p}}); sqlerr.ID(err) != want {
			t.Errorf("%d characters: %v", len(p), err)
		}
	}
}
