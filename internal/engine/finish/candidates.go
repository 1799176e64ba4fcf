package finish

import (
	"context"
	"math"
	"sort"

	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/divide"
)

// candidatesPart is the part of how often intervals may miss that is spent on which groups may be among the first: one in so many.
const candidatesPart = 10

// Candidates is in how many rows the intervals of a release shall hold at once where the first rows by an aggregate are shown: Errors.Simultaneous of it holds for all that are shown. It is at most the number of groups.
//
// Proof: let m be how often intervals may miss, G the number of groups, w the half width at which one group's noise misses with m/(10 G), and E that no group's noise is beyond w: it fails with at most m/10 (union bound). v are released values, t those without noise, v(n), t(n) the n-th largest. (1) In E a group that is shown has v >= v(n), and v(n) >= t(n) - w, as n groups
// have t >= t(n), so t >= t(n) - 2w. Let S be the groups with t >= t(n) - 2w, which no noise chooses. (2) In E each of S has v >= t - w >= t(n) - 3w >= v(n) - 4w, so S has at most k groups, k being the number of those with v >= v(n) - 4w, which are released. (3) With intervals at 9m/(10 k) some group of S misses while E holds with at most 9m/10, whatever k comes out as: in E k is at
// least |S|, and intervals of a larger k are wider. So all groups that are shown hold with 1 - m. (4) The intervals of other aggregates alike: S does not depend on their noise. What bounds may take away has its own part of m (Together), and t is what they left. The same for the first from below, by signs. Where (1) does not hold, as values are NULL, sums of several cells, or their
// noise is given that they are shown, all groups are candidates.
func Candidates(ctx context.Context, a *sensitivity.Analysis, r *release.Release, of divide.First) (int, error) {
	all := r.Len()
	f := a.Formulas[of.Agg]
	linear := f.Kind == sensitivity.IsCount || f.Kind == sensitivity.IsSum || f.Kind == sensitivity.IsSumFromPair
	if !linear || of.Rows >= uint64(all) || r.IsOnDisk() || r.MostCells() > 1 || len(r.Groups) != all { //nolint:gosec // a length
		return all, nil
	}
	e, err := Of(ctx, a, r)
	if err != nil {
		return 0, err
	}
	for _, i := range f.Uses() {
		if i >= 0 && e.selected[i] != nil {
			return all, nil
		}
	}
	if e.HasTooFewPeople(of.Agg) {
		return all, nil
	}
	w := e.Simultaneous(candidatesPart * all).plain(of.Agg)
	values := make([]float64, all)
	for i, g := range r.Groups {
		values[i], _ = exact(a, of.Agg, g.Values).Float64()
		if !of.Desc {
			values[i] = -values[i]
		}
	}
	sort.Float64s(values)
	last := values[all-int(of.Rows)] //nolint:gosec // below all
	k := all - sort.SearchFloat64s(values, last-4*w*(1+1e-9))
	if math.IsNaN(w) {
		return all, ctx.Err()
	}
	return min(all, (k*candidatesPart+candidatesPart-2)/(candidatesPart-1)), nil
}
