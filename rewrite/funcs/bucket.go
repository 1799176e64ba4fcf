package funcs

import (
	"math"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/num"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
)

// buckets has width_bucket of equal widths: 0 below the first bound, 1 to count between them, count + 1 from the second on. The
// total form is NULL where PostgreSQL raises, and for more than 10^9 buckets or bounds of 10^290, where its own arithmetic overflows.
func buckets() []*Func {
	// Proof: the operand's bucket is one of 0 .. count + 1 in all branches.
	bucketRange := func(a []*num.Interval, _ []sqltype.Type) *num.Interval {
		hi := plainRange(sqltype.OIDInt4).Hi
		if a[3] != nil && a[3].Hi.LessThan(hi) {
			hi = decimal.Max(decimal.Zero, a[3].Hi.Add(one(1)))
		}
		return &num.Interval{Lo: decimal.Zero, Hi: hi}
	}
	may := "{w} BETWEEN 1 AND 1000000000 AND {y} <> {z} AND "
	// float.c's own arithmetic; its quotient may round to 1, and the bucket be count + 1.
	duck := "CASE WHEN " + may + "abs({y}) < 1e290::DOUBLE AND abs({z}) < 1e290::DOUBLE AND NOT isnan({x}) THEN" +
		" CASE WHEN {y} < {z} AND {x} < {y} OR {y} > {z} AND {x} > {y} THEN 0 WHEN {y} < {z} AND {x} >= {z} OR {y} > {z} AND {x} <= {z} THEN {w} + 1" +
		" ELSE CAST(trunc({w} * ({x} - {y}) / ({z} - {y})) AS INTEGER) + 1 END END"
	in := "abs({y}) < 1e290 AND abs({z}) < 1e290 AND {x} <> 'NaN'"
	double := row(Function, "width_bucket", oids(f8, f8, f8, sqltype.OIDInt4), sqltype.OIDInt4, true, forms{pg: "CASE WHEN " + may + in + " THEN width_bucket({x}, {y}, {z}, {w}) END", duck: duck})
	double.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return floatBucket(v[0].(float64), v[1].(float64), v[2].(float64), v[3].(int64))
	}
	finite := "NOT " + specialY + " AND NOT " + specialZ + " AND {x} <> 'NaN' AND abs({y}) < numeric '1e1000' AND abs({z}) < numeric '1e1000'" +
		" AND (" + size1000 + " OR " + special + ")"
	exactly := row(Function, "width_bucket", oids(numeric, numeric, numeric, sqltype.OIDInt4), sqltype.OIDInt4, true, forms{why: noNumericMath,
		pg: "CASE WHEN " + may + finite + " THEN width_bucket({x}, {y}, {z}, {w}) END"})
	exactly.Eval = func(v []sqltype.Value, _ []sqltype.Type, _ sqltype.Type) (sqltype.Value, error) {
		return numericBucket(v[0].(decimal.Decimal), v[1].(decimal.Decimal), v[2].(decimal.Decimal), v[3].(int64))
	}
	return []*Func{double.within(bucketRange), exactly.within(bucketRange)}
}

func badBucket(msg string) error { return sqlerr.New(sqlerr.InvalidBucket, "%s", msg) }

// above is the bucket behind the last.
func above(count int64) (sqltype.Value, error) {
	if count == math.MaxInt32 {
		return nil, outOfRange("integer")
	}
	return count + 1, nil
}

func floatBucket(x, lo, hi float64, count int64) (sqltype.Value, error) {
	switch {
	case count <= 0:
		return nil, badBucket("count must be greater than zero")
	case math.IsNaN(x) || math.IsNaN(lo) || math.IsNaN(hi):
		return nil, badBucket("operand, lower bound, and upper bound cannot be NaN")
	case math.IsInf(lo, 0) || math.IsInf(hi, 0):
		return nil, badBucket("lower and upper bounds must be finite")
	case lo == hi:
		return nil, badBucket("lower bound cannot equal upper bound")
	case lo < hi && x < lo || lo > hi && x > lo:
		return int64(0), nil
	case lo < hi && x >= hi || lo > hi && x <= hi:
		return above(count)
	}
	at := float64(count)*(x-lo)/(hi-lo) + 1
	if !(at < math.MaxInt32) {
		return nil, outOfRange("integer")
	}
	return int64(at), nil
}

func numericBucket(x, lo, hi decimal.Decimal, count int64) (sqltype.Value, error) {
	switch c := lo.Cmp(hi); {
	case count <= 0:
		return nil, badBucket("count must be greater than zero")
	case c == 0:
		return nil, badBucket("lower bound cannot equal upper bound")
	case x.Cmp(lo)*c > 0:
		return int64(0), nil
	case x.Cmp(hi)*c <= 0:
		return above(count)
	}
	q, err := NumericDiv(x.Sub(lo).Mul(one(count)), hi.Sub(lo))
	if err != nil {
		return nil, err
	}
	return q.(decimal.Decimal).Floor().IntPart() + 1, nil
}
