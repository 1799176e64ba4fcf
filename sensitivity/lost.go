package sensitivity

import (
	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/rewrite/plan"
)

// CanBeClipped reports that bounds which are chosen, a session's clip, or a cap of groups, may take away from measure i what a second release estimates: its lost mass. The policy's bounds, and keys by which nothing can be lost, have none.
//
// Proof: claim: with kept a unit's partials as the bounds leave them and lost the partials less these, over all groups of the unit, let P be the positive part of a unit's lost ones added up. P counts in the classes that LostSteps bound, as much as it is in each, and in all together for min(P, C).
// When one unit is added or removed, the vector of the classes' sums over units changes upwards only, and by at most C in L1 norm (so in L2 norm too);
// and so for the negative part N. (1) Partials, with and without a clip, and what is kept of them are functions of one unit's rows and of released bounds (choose, norm; the cap's order is one of the unit's own keys), so P and N are too. (2) C is LostUnit, of released bounds.
// (3) Of a measure whose partials have one sign, or of a unit that is in one group even without a cap, only one of P and N is not 0 (LostSides). Of distinct values the partial is the number of the unit's own, and what the total loses is at most what its units lose together: a value that counts otherwise than without bounds was dropped by
// a unit that has it. Where such a value may add or take away (LosesEitherWay), both P and N are the unit's number of dropped values, times the most that one is. (4) A unit's parts are none below 0 and add up to min(P, C). The statement that returns them is sqlgen.Lost.
func (a *Analysis) CanBeClipped(i int) bool {
	m := &a.Measures[i]
	if a.Joined != nil || a.Pairs != nil || m.IsTree() || m.Product != nil { // (1) what is left are sums of one unit's partials
		return false
	}
	return m.Bound != nil || a.Limit.Cap != nil || a.Limit.Capped || a.Clipped && m.Kind != Units && m.Kind != SomeUnits
}

// IsClippedUnseen reports that a clip may take away from measure i what is not estimated. What sums of squares and products lose follows from the rows that are lost.
func (a *Analysis) IsClippedUnseen(i int) bool {
	m := &a.Measures[i]
	return a.Clipped && !a.CanBeClipped(i) && m.Kind != Units && m.Kind != SomeUnits && !m.IsOwnExtreme() && m.Product == nil
}

// CanAnyBeClipped reports that some measure may lose mass.
func (a *Analysis) CanAnyBeClipped() bool {
	for i := range a.Measures {
		if a.CanBeClipped(i) {
			return true
		}
	}
	return false
}

// Unclipped is the measure of all of a unit's rows, however many a clip keeps: as much as integers hold. A unit that has some of them counts once.
func (m Measure) Unclipped() Measure {
	if m.Kind == SomeUnits {
		return m
	}
	m.Rows, m.Hi = 0, dp.MaxSensitivity/int64(max(1, m.Subdivision)) //nolint:gosec // at most 2^8
	if m.Lo < 0 {
		m.Lo = -m.Hi
	}
	if m.Bound == nil { // a partial with a bound is of all rows
		m.Bound = &Choice{}
	}
	return m
}

// LostSides is how many of the two signs what a measure loses may have: (3).
func (m *Measure) LostSides() int {
	if m.Lo < 0 || m.LosesEitherWay() {
		return 2
	}
	return 1
}

// LosesEitherWay says that a distinct value which is dropped may make the total smaller or larger: in a sum, and in a set operation, whose other side it may be of.
func (m *Measure) LosesEitherWay() bool {
	t, ok := m.Arg.(*plan.Tuple)
	return m.Distinct || ok && t.Held != nil
}

// LostMoves is in how many of them one unit has a part at once: (3), where a cap of one group leaves out others, of either sign.
func (a *Analysis) LostMoves(m *Measure) uint64 {
	if m.LosesEitherWay() || m.Lo < 0 && (a.Limit.PerUnit > 1 || a.Limit.Capped) {
		return 2
	}
	return 1
}

// LostSteps lead from each class of what units lose to the next, in multiples of C: at From a unit is in the lower class, at To in the next one, between them partly in both. The first class begins at 0. As each unit is in one or two of them, more classes cost nothing. The first steps are long, so that
// ordinary tails are told well, the others short, so that a few people who lose about as much as each other are not in two classes.
var LostSteps = [...]LostStep{{1, 5}, {5, 25}, {50, 60}, {250, 300}, {1250, 1500}}

// LostStep is one of them.
type LostStep struct{ From, To uint64 }

// LostClasses is how many classes there are.
const LostClasses = len(LostSteps) + 1

// LostCoarse is the least C that is counted in whole steps. A larger C may so have fewer parts in all than a smaller one.
const LostCoarse = 1 << 20

// LostParts are the parts of a value's step in which units are counted: enough that quotients of small C do not cut much. C is LostUnit.
func LostParts(c uint64) uint64 {
	if c < LostCoarse {
		return 100
	}
	return 1
}

// LostUnit is C of CanBeClipped' claim, (2): about half of what one unit may count for in the measure. By it the noise of what is lost is scaled: half has half the noise, and tells less of a long tail. clip is the measure's bound on a partial, or a norm; groups the number of a unit's groups that count;
// byRoot says that noise grows with the root of it.
func (a *Analysis) LostUnit(clip, groups uint64, byRoot bool) uint64 {
	times := groups
	if byRoot {
		for times = 1; times*times < groups; times++ { //nolint:revive // the least whole number from the root on
		}
	}
	if a.Limit.Norm > 0 {
		times = 1
	}
	const most = dp.MaxSensitivity / 8
	if clip > dp.MaxSensitivity/max(1, times) {
		return most
	}
	return min(most, max(1, clip*times/2))
}
