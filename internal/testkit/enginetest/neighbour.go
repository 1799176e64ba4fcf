package enginetest

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Comparison is how what a statement returns is read and compared: changed with that of a neighbour, by which share of the claim it changes; same where it must be equal.
type Comparison[T any] struct {
	Read    func(backend.Backend) (T, error)
	Changed func(before, after T) (float64, error)
	Same    func(before, after T) error
}

// Across compares what the wild clinic gives with its neighbours', and with what it gives without ownerless rows and in another order. It gives the largest share of a claim that was used.
func (c Comparison[T]) Across(t testing.TB, d dialect.Dialect) (share float64, err error) {
	t.Helper()
	before, err := c.Read(Wild.Open(t, d))
	if err != nil {
		return 0, err
	}
	for _, other := range append([]Clinic{Owned, Mixed}, Without...) {
		after, err := c.Read(other.Open(t, d))
		if err != nil {
			return share, err
		}
		one := 0.0
		if other.Name == Owned.Name || other.Name == Mixed.Name {
			err = c.Same(before, after)
		} else {
			one, err = c.Changed(before, after)
		}
		if err != nil {
			return share, fmt.Errorf("%s: %w", other.Name, err)
		}
		share = max(share, one)
	}
	return share, nil
}

// Mangled is a print with a bug in it, where there is one to plant.
func Mangled(t testing.TB, st *sqlgen.Statement, mangle func(string) string) *sqlgen.Statement {
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

// Rewritten is a print in which patterns were replaced: pairs of both.
func Rewritten(pairs ...string) func(string) string {
	return func(sql string) string {
		for i := 0; i < len(pairs); i += 2 {
			sql = regexp.MustCompile(pairs[i]).ReplaceAllString(sql, pairs[i+1])
		}
		return sql
	}
}

// Holds runs a statement on a database, on those that lack one unit's rows, and on those whose totals must be the same, and
// compares with the claims. It gives the largest share of a claim that was used.
func Holds(a *sensitivity.Analysis, st *sqlgen.Statement, db backend.Backend, changed, same map[string]backend.Backend) (share float64, err error) {
	ctx := context.Background()
	before, err := neighbour.ReadTotals(ctx, Uncovered{db}, st)
	if err != nil {
		return 0, err
	}
	for name, b := range changed {
		after, err := neighbour.ReadTotals(ctx, Uncovered{b}, st)
		if err != nil {
			return share, err
		}
		one, err := neighbour.Compare(a, before, after)
		if err != nil {
			return share, fmt.Errorf("%s: %w", name, err)
		}
		share = max(share, one)
	}
	for name, b := range same {
		after, err := neighbour.ReadTotals(ctx, Uncovered{b}, st)
		if err != nil {
			return share, err
		}
		if err := neighbour.Equal(before, after); err != nil {
			return share, fmt.Errorf("%s: %w", name, err)
		}
	}
	return share, nil
}
