package divide

import (
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/claims"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// TestOpenLeaves: the leaves of a tree without a range part what it reads, in order, and are at most as wide as Spread says; a value is in the leaf that bucket numbers.
func TestOpenLeaves(t *testing.T) {
	z := newAnalyzer(t.Context(), &plan.Query{}, &plan.Aggregate{}, sensitivity.Options{})
	for _, typ := range []sqltype.Type{sqltype.Int2, sqltype.Int4, sqltype.Int8, sqltype.Float8, sqltype.Float4, sqltype.Numeric, sqltype.Date, sqltype.Timestamp} {
		tree := z.OpenTree(&plan.Const{T: typ})
		if tree.Count > claims.MostLeaves || !tree.Open {
			t.Errorf("%s: %+v", typ, tree)
		}
		next := tree.Lo
		for at := range tree.Count {
			lo, hi := tree.Leaf(at)
			if lo > tree.Hi || hi < tree.Lo || at == tree.Count-1 && lo == hi && tree.Digits > 0 && lo != next { // beyond the type
				continue
			}
			if lo != next && at != 0 && lo != tree.Lo && lo != tree.Hi {
				t.Fatalf("%s: leaf %d begins with %d, not %d", typ, at, lo, next)
			}
			if next = hi; hi < math.MaxInt64 {
				next++
			}
			if tree.Digits == 0 {
				continue
			}
			for _, v := range []int64{lo, hi, lo + (hi-lo)/2} {
				k := sensitivity.Bucket(relation.Magnitude(v), tree.Digits)
				if v < 0 {
					k = -k
				}
				if in := (tree.Count-1)/2 + k; in != at && v != tree.Lo && v != tree.Hi {
					t.Fatalf("%s: %d is in leaf %d, not %d", typ, v, in, at)
				}
			}
			if least := min(relation.Magnitude(lo), relation.Magnitude(hi)); uint64(hi-lo) > least/(1<<(claims.OpenDigits-1)) {
				t.Errorf("%s: leaf %d is from %d to %d", typ, at, lo, hi)
			}
		}
		if tree.Digits > 0 && next != tree.Hi && next != tree.Hi+1 {
			t.Errorf("%s: the last leaf ends at %d, not at %d", typ, next, tree.Hi)
		}
	}
}
