package neighbour

import (
	"context"
	"fmt"
	"math/big"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// DB is one connection to a database of either dialect.
type DB interface {
	Exec(ctx context.Context, sql string) error
	// Query runs a printed statement without parameters of its own and gives its rows, NULL as nil.
	Query(ctx context.Context, st *sqlgen.Statement) ([][]sqltype.Value, error)
}

// Totals are the totals of a printed statement by group.
type Totals struct {
	Groups map[string][]*big.Int // one entry a measure; the last one is the number of units where the print returns it
}

// ReadTotals runs a statement; totals must be integers.
func ReadTotals(ctx context.Context, db DB, st *sqlgen.Statement) (*Totals, error) {
	rows, err := db.Query(ctx, st)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, st.SQL)
	}
	t := &Totals{Groups: map[string][]*big.Int{}}
	for _, row := range rows {
		if len(row) != len(st.Columns) {
			return nil, fmt.Errorf("neighbour: %d columns came, %d were said", len(row), len(st.Columns))
		}
		var key strings.Builder
		var values []*big.Int
		var units *big.Int
		for i, c := range st.Columns {
			if c.Role == sqlgen.RoleKey {
				fmt.Fprintf(&key, "%T:%v;", row[i], row[i])
				continue
			}
			n, err := integer(row[i])
			if err != nil {
				return nil, err
			}
			if c.Role == sqlgen.RoleUnits {
				units = n
				continue
			}
			values = append(values, n)
		}
		if units != nil {
			values = append(values, units)
		}
		if _, ok := t.Groups[key.String()]; ok {
			return nil, fmt.Errorf("neighbour: group %s comes twice", key.String())
		}
		t.Groups[key.String()] = values
	}
	return t, nil
}

func integer(v sqltype.Value) (*big.Int, error) {
	switch x := v.(type) {
	case nil:
		return new(big.Int), nil
	case int64:
		return big.NewInt(x), nil
	case decimal.Decimal:
		if x.IsInteger() {
			return x.BigInt(), nil
		}
	}
	return nil, fmt.Errorf("neighbour: a total is %v, no integer", v)
}

// Compare reports the first claim that the difference of two databases breaks: in each group each measure changes by at most
// PerGroup (the number of units by 1), and each changes in at most Limit.PerUnit groups. It returns the largest change seen, as
// a share of the claim.
func Compare(a *sensitivity.Analysis, before, after *Totals) (share float64, err error) {
	width := 0
	for _, t := range []*Totals{before, after} {
		for _, v := range t.Groups {
			width = max(width, len(v))
		}
	}
	changed := make([]uint64, width)
	keys := map[string]bool{}
	for k := range before.Groups {
		keys[k] = true
	}
	for k := range after.Groups {
		keys[k] = true
	}
	for k := range keys {
		for i := range width {
			limit := uint64(1)
			if i < len(a.Measures) {
				limit = a.Measures[i].PerGroup
			}
			d := new(big.Int).Sub(at(before.Groups[k], i), at(after.Groups[k], i))
			if d.Sign() == 0 {
				continue
			}
			changed[i]++
			if d.CmpAbs(new(big.Int).SetUint64(limit)) > 0 {
				return 0, fmt.Errorf("measure %d of group %s changes by %s, the claim is %d", i+1, k, d, limit)
			}
			f, _ := new(big.Rat).SetFrac(d.Abs(d), new(big.Int).SetUint64(limit)).Float64()
			share = max(share, f)
		}
	}
	for i, n := range changed {
		if n > a.Limit.PerUnit {
			return 0, fmt.Errorf("measure %d changes in %d groups, the claim is %d", i+1, n, a.Limit.PerUnit)
		}
	}
	return share, nil
}

func at(v []*big.Int, i int) *big.Int {
	if i < len(v) {
		return v[i]
	}
	return new(big.Int)
}

// Equal reports a difference between totals that must be the same.
func Equal(before, after *Totals) error {
	for _, pair := range [][2]*Totals{{before, after}, {after, before}} {
		for k, v := range pair[0].Groups {
			for i := range v {
				if other := at(pair[1].Groups[k], i); v[i].Cmp(other) != 0 {
					return fmt.Errorf("measure %d of group %s is %s and %s", i+1, k, v[i], other)
				}
			}
		}
	}
	return nil
}

// Change runs do after statements inside a transaction that is rolled back.
func Change(ctx context.Context, db DB, statements []string, do func() error) (err error) {
	if err := db.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	defer func() {
		if e := db.Exec(ctx, "ROLLBACK"); err == nil {
			err = e
		}
	}()
	for _, s := range statements {
		if err := db.Exec(ctx, s); err != nil {
			return fmt.Errorf("%w\n%s", err, s)
		}
	}
	return do()
}

// Check prints an analysis and holds it against the database: for each unit removed the claims of Compare, without ownerless rows
// no change at all, and none when rows lie in another physical order. mangle, if not nil, changes the print: a planted bug. It
// returns the largest share of a claim that was used.
func Check(ctx context.Context, db DB, cat *Catalog, a *sensitivity.Analysis, d dialect.Dialect, units []int, mangle func(string) string) (share float64, err error) {
	return CheckWithout(ctx, db, cat, a, d, cat.removals(units), cat.DeleteOwnerless(), mangle)
}

func (c *Catalog) removals(units []int) (out []Removal) {
	for _, u := range units {
		out = append(out, Removal{fmt.Sprintf("unit %d", u), c.DeleteUnit(u)})
	}
	return out
}

// Removal removes all rows of one unit.
type Removal struct {
	Name       string
	Statements []string
}

// CheckWithout is Check of units that statements remove.
func CheckWithout(ctx context.Context, db DB, cat *Catalog, a *sensitivity.Analysis, d dialect.Dialect, without []Removal, ownerless []string, mangle func(string) string) (share float64, err error) {
	st, err := sqlgen.Private(a, d, 42)
	if err != nil {
		return 0, err
	}
	if mangle != nil {
		sql := mangle(st.SQL)
		if sql == st.SQL {
			return 0, fmt.Errorf("neighbour: the planted bug changes nothing in %s", st.SQL)
		}
		st.SQL = sql
	}
	before, err := ReadTotals(ctx, db, st)
	if err != nil {
		return 0, err
	}
	again := func(same bool) func() error {
		return func() error {
			after, err := ReadTotals(ctx, db, st)
			if err != nil {
				return err
			}
			if same {
				return Equal(before, after)
			}
			s, err := Compare(a, before, after)
			share = max(share, s)
			return err
		}
	}
	for _, r := range without {
		if err := Change(ctx, db, r.Statements, again(false)); err != nil {
			return share, fmt.Errorf("without %s: %w", r.Name, err)
		}
	}
	if err := Change(ctx, db, ownerless, again(true)); err != nil {
		return share, fmt.Errorf("without rows that nobody owns: %w", err)
	}
	if err := Change(ctx, db, cat.shuffle(st.SQL), again(true)); err != nil {
		return share, fmt.Errorf("in another physical order: %w", err)
	}
	return share, nil
}
