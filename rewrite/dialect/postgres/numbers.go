package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
)

func (postgres) Big(x string) string { return "CAST(" + x + " AS pg_catalog.int8)" }

func (postgres) Wide(x string) string { return "CAST(" + x + " AS pg_catalog.numeric)" }

// Summand: the sum of int2 and int4 is a bigint, that of int8 a numeric.
func (d postgres) Summand(x string, t sqltype.Type, few bool) (text string, small bool) {
	switch {
	case t.OID == sqltype.OIDInt8:
		return x, false
	case few:
		return x, true
	}
	return d.Big(x), false
}

func (d postgres) Factor(count string, fits bool) string {
	if fits {
		return count
	}
	return d.Wide(count)
}

func (postgres) Shared(sum string) string { return sum }

func (d postgres) Share(x string, n uint64, k string) string {
	return d.Quotient(fmt.Sprintf("(%s) * %d", x, n), k)
}

func (postgres) Quotient(x, y string) string { return fmt.Sprintf("pg_catalog.div(%s, %s)", x, y) }

func (postgres) Divided(x string, n int64) string { return fmt.Sprintf("%s / %d", x, n) }

// RootAbove: PostgreSQL's numeric root is off by less than 1.
func (postgres) RootAbove(squares string) string {
	return fmt.Sprintf("pg_catalog.ceil(pg_catalog.sqrt(%s)) + 1", squares)
}

// EdgesBelow is found by PostgreSQL's binary search, for the edges that are at most x - 1.
func (postgres) EdgesBelow(x string, edges []string, t sqltype.Type) string {
	return fmt.Sprintf("pg_catalog.width_bucket(%s - 1, CAST('{%s}' AS pg_catalog.%s[]))", x, strings.Join(edges, ","), typeNames[t.OID])
}

// Rounded clamps before it divides, so that the cast has nothing to raise on.
func (d postgres) Rounded(r dialect.Rounding) (string, error) {
	grid, lo, hi, err := r.Ends(d)
	if err != nil {
		return "", err
	}
	x := r.X
	if !r.Clamped {
		x = strictClamp(x, r.Type(), lo, hi)
	}
	if r.Float {
		x = dividable(x, r.Grid)
	}
	steps := fmt.Sprintf("%s / %s", x, grid)
	if k, ok := r.Power(); ok {
		steps = fmt.Sprintf("%s * %s", x, decimal.New(1, k))
	}
	value := d.Big("pg_catalog.round(" + steps + ")")
	if r.Single {
		value = strictClamp(value, sqltype.Int8, fmt.Sprint(r.Lo), fmt.Sprint(r.Hi))
	}
	return value, nil
}

// dividable is a clamped float8 whose quotient by the grid is rounded as before and does not underflow: PostgreSQL raises where what is not 0 is divided and gives 0.
//
// Proof: underflow takes |x|/grid <= 2^-1075, and no x but 0 is below 2^-1074, so grids below 2 need nothing. Else let g be the power of ten with g <= grid < 10 g, and e the
// float nearest to g 10^-60. (1) From |x| >= 2^55 e on x + e is x: e is less than half of the last place of x and of its neighbour. (2) Below it |x + e| < grid/2, and both x and x + e give 0. (3) x + e is 0, or not
// smaller than half of the last place of e, a part of 2^-54 of e: their quotients by the grid are over 10^-78. (4) A sum underflows nowhere, and x + e does not overflow, being x for such x.
func dividable(x string, grid decimal.Decimal) string {
	if grid.LessThan(decimal.NewFromInt(2)) {
		return x
	}
	return fmt.Sprintf("(%s + pg_catalog.float8 '1e%d')", x, grid.NumDigits()+int(grid.Exponent())-1-60)
}

// strictClamp is x in [lo, hi], which mentions a long x once. NULL stays NULL, which least and greatest pass over, and NaN, above all
// numbers, becomes the upper end.
func strictClamp(x string, t sqltype.Type, lo, hi string) string {
	name := map[sqltype.OID]string{sqltype.OIDNumeric: "numeric_", sqltype.OIDFloat8: "float8", sqltype.OIDInt8: "int8"}[t.OID]
	return fmt.Sprintf("pg_catalog.%ssmaller(pg_catalog.%slarger(%s, %s), %s)", name, name, x, lo, hi)
}

func (d postgres) TimeSteps(x string, t sqltype.Type) string {
	switch t.OID {
	case sqltype.OIDDate:
		return d.Big(fmt.Sprintf("%s - DATE '2000-01-01'", x))
	case sqltype.OIDTimestamptz:
		return d.Big(fmt.Sprintf("EXTRACT(epoch FROM %s - TIMESTAMPTZ '2000-01-01 00:00:00+00') * 1000000", x))
	}
	return d.Big(fmt.Sprintf("EXTRACT(epoch FROM %s - TIMESTAMP '2000-01-01') * 1000000", x))
}

// RangeKey: PostgreSQL compares integers with a sum that it knows to overflow (in_range_int8_int8).
func (postgres) RangeKey(x string, t sqltype.Type) string {
	if t.OID == sqltype.OIDDate {
		return dialect.DaysOf(x, "CAST("+x+" - DATE '2000-01-01' AS bigint)")
	}
	return x
}

func (postgres) RangeOffset(n int64) string { return strconv.FormatInt(n, 10) }
