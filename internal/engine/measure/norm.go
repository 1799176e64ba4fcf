package measure

import (
	"errors"
	"math"

	"github.com/dpsql/dpsql/sensitivity"
)

// Gaussian reports whether a statement may have Gaussian noise: it is asked for, or auto may take it.
func (k Ask) Gaussian() bool {
	return k.Filter.Order != 0 && (k.Mechanism == Gaussian || k.Mechanism == Auto && k.Filter.PrefersRenyi())
}

// NormErrsLess compares two ways to bound one statement: each of a unit's groups by itself (a, priced as p), and its whole vector by its norm (scaled,
// priced as q). It goes by public facts alone. What is known of a unit is that it has at most t in each of at most g groups. It is taken to have t in
// the root of g of them, so that its norm is t g^(1/4): few have as much in all of their groups as in the one where they have most. A number of units has no such
// difference, each part of it is 1, so there the norm is that of all g. The noise is compared at these norms, measure by measure, each weighing alike. What a cap or
// a clip cuts is not in it, on either side. The exponent is a guess between what two extremes
// have, 0 (all in one group) and 1/2 (as much in each), and right for neither: on the demo, one data set, the norms of counts and sums that are chosen are t g^0 to t g^0.3, of count(distinct) t g^0.6. Where it is wrong the
// other way to bound would err less, by a factor of g^(1/4) at most; nothing else depends on it.
func NormErrsLess(a *sensitivity.Analysis, p *Plan, scaled *sensitivity.Analysis, q *Plan) (bool, error) {
	if len(a.Measures) != len(scaled.Measures) {
		return false, errors.New("measure: two analyses of one statement differ")
	}
	each, _, err := p.Reference(a)
	if err != nil {
		return false, err
	}
	whole, _, err := q.Reference(scaled)
	if err != nil {
		return false, err
	}
	sum := 0.0
	for i, m := range a.Measures {
		if m.Kind != scaled.Measures[i].Kind {
			return false, errors.New("measure: two analyses of one statement differ")
		}
		one, bound, err := each.deviation(i)
		if err != nil {
			return false, err
		}
		t, g := float64(bound.PerGroup), float64(bound.Groups)
		all, norm, err := whole.deviation(i)
		if err != nil {
			return false, err
		}
		expected := t * math.Pow(g, 0.25)
		if m.Kind == sensitivity.Units || m.Kind == sensitivity.SomeUnits {
			expected = t * math.Sqrt(g)
		}
		sum += math.Log(all * expected / float64(norm.PerGroup) / one) // noise is proportional to the norm, whose parts of steps cancel
	}
	return sum < 0, nil
}
