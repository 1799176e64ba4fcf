package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// What the tests of many kinds of statements do with each: compare its answer with PostgreSQL's, and what its print returns from neighbours.

// clinicText is PostgreSQL before the tame clinic, whose answers for a text are the truth.
func clinicText(t testing.TB) *neighbour.Postgres {
	t.Helper()
	ctx := context.Background()
	tame.open(t, funcs.Postgres) // makes the database
	conn, err := pgconn.Connect(ctx, sharedServer(t).URL("clinic_tame"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return &neighbour.Postgres{Conn: conn}
}

// sameAsTexts: with noise of scale nothing and room for all rows and groups, the statements' answers are what PostgreSQL gives for their texts, in order where they end with one.
func sameAsTexts(t testing.TB, on []dialect.Dialect, statements ...string) {
	t.Helper()
	db := clinicText(t)
	for _, d := range on {
		s := clinicSession(t, tame, d, roomy...)
		set(t, s, "dpsql.max_groups", "1000")
		for _, sql := range statements {
			sameAsText(t, db, s, sql, strings.LastIndex(sql, "order by") > strings.LastIndex(sql, ")"))
		}
	}
}

// keepClaims: what the statements print returns no more of a unit than is claimed.
func keepClaims(t testing.TB, on []dialect.Dialect, statements ...string) {
	t.Helper()
	for _, d := range on {
		s := clinicSession(t, wild, d)
		for _, sql := range statements {
			p, err := prepare(s, sql)
			if err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
				continue
			}
			if _, err := compareClinics(t, p, nil); err != nil {
				t.Errorf("%s: %s: %v", d, sql, err)
			}
		}
	}
}

// comparison is how what a statement returns is read and compared: changed with that of a neighbour, by which share of the claim it changes; same where it must be equal.
type comparison[T any] struct {
	read    func(backend.Backend) (T, error)
	changed func(before, after T) (float64, error)
	same    func(before, after T) error
}

// across compares what the wild clinic gives with its neighbours', and with what it gives without ownerless rows and in another order. It gives the largest share of a claim that was used.
func (c comparison[T]) across(t testing.TB, d dialect.Dialect) (share float64, err error) {
	t.Helper()
	before, err := c.read(wild.open(t, d))
	if err != nil {
		return 0, err
	}
	for _, other := range append([]clinic{owned, mixed}, without...) {
		after, err := c.read(other.open(t, d))
		if err != nil {
			return share, err
		}
		one := 0.0
		if other.name == owned.name || other.name == mixed.name {
			err = c.same(before, after)
		} else {
			one, err = c.changed(before, after)
		}
		if err != nil {
			return share, fmt.Errorf("%s: %w", other.name, err)
		}
		share = max(share, one)
	}
	return share, nil
}

// mangled is a print with a bug in it, where there is one to plant.
func mangled(t testing.TB, st *sqlgen.Statement, mangle func(string) string) *sqlgen.Statement {
	t.Helper()
	if mangle == nil {
		return st
	}
	out := *st
	if out.SQL = mangle(st.SQL); out.SQL == st.SQL {
		t.Fatalf("the planted bug changes nothing in %s", st.SQL)
	}
	return &out
}

// compareApart compares, at all of KeptOf, what is read of each of a statement's measures of a kind. mangle, if not nil, plants a bug in the print.
func compareApart[T any](t testing.TB, p *prepared, of func(sensitivity.Measure) bool, mangle func(string) string, how func(i int, kept sqlgen.Kept, st *sqlgen.Statement) comparison[T]) (share float64, err error) {
	t.Helper()
	for i, m := range p.analysis().Measures {
		if !of(m) {
			continue
		}
		for _, kept := range keptOf(p.analysis(), m) {
			st, err := stage.Apart(p.analysis(), p.Session.Engine.Dialect, i, kept, 42)
			if err != nil {
				t.Fatal(err)
			}
			st = mangled(t, st, mangle)
			one, err := how(i, kept, st).across(t, p.Session.Engine.Backend.Dialect())
			if err != nil {
				return share, fmt.Errorf("at %+v: %w\n%s", kept, err, st.SQL)
			}
			share = max(share, one)
		}
	}
	return share, nil
}
