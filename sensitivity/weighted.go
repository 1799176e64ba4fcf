package sensitivity

import (
	"math/bits"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// WeightedRows counts joined rows by weights (Joined.Weighted).
const WeightedRows MeasureKind = "weighted rows"

// WeightParts is how many parts of a row weights are whole numbers of: each key's sum is rounded down to them.
const WeightParts = 1 << 10

// Pairing is of two leaves that are joined by nothing but equalities of columns, and of whose joined rows nothing is asked but how many there are: a key that A rows of one side have and B of the other has A B of them (Joined.Counted).
//
// Joined.Weighted is wPINQ's join of them for COUNT(*): of a key that A of the rows of one side have and B of the other's the A B joined rows have the weight A B / (A + B) together, in place of A B. It is another number than COUNT(*): with one row on each side a half.
//
// Proof: claim: one unit changes the sum over keys of floor(G A B / (A + B)) by at most (mA + mB)(G + 1), mA and mB its rows of the sides, G WeightParts. f(A, B) = A B / (A + B) (0 for A = B = 0) has slopes (B / (A + B))^2 in A and (A / (A + B))^2 in B, both in [0, 1], so with a rows of a key more on one side and b on
// the other it grows by at most a + b, and by 0 at least. The floors of two numbers at most G (a + b) apart are at most G (a + b) + 1 apart, which is no more than (G + 1)(a + b) where a + b is 1 or more, and where it is 0 nothing changes. A unit's a and b of all keys are at most mA + mB together: the leaves keep no more
// of its rows (Rows: Analyze's joinedBody, (J2)), whatever frequencies are. Nothing else is asked of joined rows than that the columns of Keys are equal in pairs, so which rows there are beside the numbers A and B is not seen. Source: Proserpio, Goldberg, McSherry, "Calibrating Data to Sensitivity in Private Data Analysis", PVLDB 2014, section 2.8.
type Pairing struct {
	Sides [2]plan.Rel
	Keys  [2][]plan.ColID // in pairs
	Rows  [2]uint64       // of one unit that a side keeps, at most; 0: it is public
}

// pairing prepares a statement for it, or refuses one that weights say nothing of.
func (j *joining) pairing(left []plan.Scalar) (*Pairing, error) {
	refuse := func(pos int, what string) error {
		return sqlerr.New(sqlerr.JoinOffUnit, "%s has no weighted answer", what).At(pos).
			WithHint("dpsql.bounding = weighted is for count(*) of two tables joined by equality of columns, without GROUP BY; SET dpsql.bounding = auto counts joined rows.")
	}
	agg := j.out.Agg
	switch {
	case len(j.list) != 2:
		return nil, refuse(agg.Pos, "a join of more than two tables")
	case len(agg.Keys) > 0 || agg.Sets != nil:
		return nil, refuse(agg.Pos, "GROUP BY over rows of several people")
	}
	for _, g := range j.aggs {
		if g.Fn != plan.CountRows || g.Filter != nil {
			return nil, refuse(g.Pos, string(g.Fn)+" of joined rows")
		}
	}
	w := &Pairing{Sides: [2]plan.Rel{j.list[0].rel, j.list[1].rel}, Rows: [2]uint64{j.list[0].rows, j.list[1].rows}}
	for _, x := range left {
		list := equalities(x)
		if len(list) != 1 || len(plan.Conjuncts(x)) != 1 { // a computed condition may be several
			return nil, refuse(agg.Pos, "a condition on both tables that is no equality of their columns")
		}
		a, b := list[0].a, list[0].b
		if j.list[1].hasScan(j.owner[a]) {
			a, b = b, a
		}
		if !j.list[0].hasScan(j.owner[a]) || !j.list[1].hasScan(j.owner[b]) || !isJoinKeyPair(j.typeOf(a), j.typeOf(b)) {
			return nil, refuse(agg.Pos, "a condition on both tables that is no equality of their columns")
		}
		w.Keys[0], w.Keys[1] = append(w.Keys[0], a), append(w.Keys[1], b)
	}
	if len(w.Keys[0]) == 0 {
		return nil, sqlerr.New(sqlerr.Internal, "a weighted join without a key")
	}
	return w, nil
}

// uncut: each leaf keeps as many rows of a unit as it is said to, and nothing else cuts it: a cap by a key would let others' rows in.
func (j *joining) uncut() error {
	for _, p := range j.list {
		c, capped := p.rel.(*plan.Capped)
		if capped != (p.unit != 0 && !p.keyed) || capped && (c.Most != p.rows || !slices.Equal(c.By, []plan.ColID{p.unit})) || p.keyed && p.rows != 1 || p.unit == 0 && p.rows != 0 {
			return sqlerr.New(sqlerr.Internal, "a side of a weighted join is not capped as it is said to be")
		}
	}
	return nil
}

// boundWeighted sets the sensitivity of a count by weights.
func (z *analyzer) boundWeighted(m *Measure) error {
	w := z.out.Joined.Weighted
	over, most := bits.Mul64(w.Rows[0]+w.Rows[1], WeightParts+1) // each at most dp.MaxSensitivity
	if m.PerGroup = most; over > 0 || most > dp.MaxSensitivity {
		return tooWide().At(z.out.Agg.Pos)
	}
	m.Kind, m.Grid, m.Factor, m.Single, m.Joined, m.Subdivision, m.Hi = WeightedRows, decimal.NewFromInt(1), 1, true, true, WeightParts, int64(most) //nolint:gosec // within it
	return nil
}

// weightedLines are Explain's.
func (a explainer) weightedLines(say func(key, format string, args ...any)) {
	say("Bounding", "weighted: of a value that a rows of one table have and b of the other the answer counts a b / (a + b), in place of a b. It is not the number of joined rows")
	say("Groups", "one")
	m := a.Measures[slices.IndexFunc(a.Measures, func(m Measure) bool { return m.Kind == WeightedRows })]
	say("Measure 1", "weights of joined rows, in parts of 1/%d. One unit changes them by at most %s", WeightParts, decimal.NewFromUint64(m.PerGroup).DivRound(decimal.NewFromInt(WeightParts), 3))
}
