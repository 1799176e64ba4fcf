package claims

import (
	"math"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
)

// Trees of MIN and MAX without a declared range.
const (
	OpenDigits = 8       // a leaf is at most 1/128 of its values wide
	openSteps  = 1 << 60 // values of other types than integers are read up to so many steps
	openScale  = 6       // decimals of numerics of unknown scale
	openFloat  = -20     // the power of two that floats are rounded to
	openDay    = -36524  // 1900-01-01, in days from 2000-01-01; the last of MostLeaves days is 2079-06-06
)

// OpenTree shapes the tree of a MIN or MAX whose values have no declared range: over what their type holds, or over the days of 1900 to 2079.
//
// Proof: claim: orderStatistic's, which says nothing of the range: a unit is in one leaf of a group. (1) The shape follows from the argument's type, and its declared step or scale, alone. (2) Each value is in exactly one leaf:
// what is beyond Lo or Hi is read as these (sqlgen.steps), and the leaves of Leaf part [Lo, Hi]: leaf n + k and n - k hold the magnitudes m with bucket(m) = k, and bucket ascends. (3) So leaves ascend with values,
// and a unit's greatest leaf is that of its greatest value.
func (z *Measurer) OpenTree(x plan.Scalar) *sensitivity.Tree {
	t := &sensitivity.Tree{Type: x.Type(), Grid: decimal.NewFromInt(1), Width: 1, Open: true}
	if relation.IsDay(t.Type) {
		if t.Type.OID != sqltype.OIDDate {
			t.Width = relation.MicrosPerDay
		}
		t.Count = MostLeaves
		t.Lo = openDay * t.Width
		t.Hi = t.Lo + t.Count*t.Width - 1
		t.Fans = fans(t.Count)
		return t
	}
	t.Digits, t.Hi, t.Lo = OpenDigits, openSteps, -openSteps
	var ok bool
	switch t.Grid, t.Rounded, ok = z.GridByType(x); {
	case ok && t.Type.IsInteger():
		t.Hi = math.MaxInt64 >> (64 - 8*t.Type.Len())
		t.Lo = max(-t.Hi-1, -math.MaxInt64)
	case ok:
	case t.Type.IsFloat():
		t.Grid, t.Rounded = decimal.NewFromFloat(math.Ldexp(1, openFloat)), true
	default:
		t.Grid, t.Rounded = decimal.New(1, -openScale), true
	}
	t.Count = 2*sensitivity.Bucket(max(relation.Magnitude(t.Lo), relation.Magnitude(t.Hi)), t.Digits) + 1
	t.Fans = fans(t.Count)
	return t
}
