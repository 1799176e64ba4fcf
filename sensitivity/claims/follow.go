package claims

import (
	"slices"

	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/groups"
)

// Follow lets filtered counts and sums of one sign take the bound that is chosen for the same measure of all rows, where that is expected to err less than a choice of
// their own. What a filter keeps of a unit's rows has at most the size that all of them have, so the common bound cuts nothing that fits without the
// filter; but it is larger than need be, by 1/q for a filter that keeps a part q of each unit's rows, and so is the noise. A choice of their own takes the share s of what telling
// its lost mass leaves of the measure's price, and leaves Laplace noise 1/(1-s) as large, Gaussian noise 1/sqrt(1-s). So they follow where q is at least 1 - s or its root, Options.LeastKept. q is keeps', from public facts alone;
// where nothing is known of it each has its own. A filtered average's count may follow. Its sum has its own choice too, and beside a statistic goes with its count.
//
// An average keeps two choices, one of the count and one of the sum. One for both would have to tie the two bounds, as t rows to
// t times a typical value; no public fact tells that value (a range is mostly far wider), so one of them would be too large, or cut, by the factor that the guess is off, where one
// choice less makes Laplace noise smaller by its share s, about 20% at most, Gaussian noise by 11%. A joint choice among all pairs of edges needs no guess, but the units
// of each pair: thousands of buckets a group in place of two hundred, for the same gain.
//
// Proof: choose's claim is of any edge, whatever it was chosen by: at edge t one unit moves a follower's totals by at most Factor t in each of at most
// Limit.PerUnit groups (norm's: its vector by norm Factor t). The choice itself counts the units of the measure that it was made for alone, each once, so
// its counts change by 1 at most in one direction, as before. Sources: those of Analyze.
func (z *Measurer) Follow() error {
	ms, least := z.Out.Measures, z.Opts.LeastKept
	if least == 0 {
		least = 1
	}
	whole := map[string][]int{} // measures of all rows, by what they are of
	for i, m := range ms {
		if m.Filter == nil && m.Bound != nil {
			text := z.ScalarText(m.Arg)
			whole[text] = append(whole[text], i)
		}
	}
	if len(whole) == 0 {
		return nil
	}
	for i := range ms {
		if err := z.Ctx.Err(); err != nil {
			return err
		}
		m := &ms[i]
		if m.Filter == nil || m.Bound == nil || m.Kind == sensitivity.CentredSum || m.Kind == sensitivity.SumValues && m.RowLo < 0 && m.RowHi > 0 {
			continue
		}
		of := whole[z.ScalarText(m.Arg)]
		at := slices.IndexFunc(of, func(i int) bool {
			o := &ms[i]
			return o.Kind == m.Kind && o.Subdivision == m.Subdivision && o.Grid.Equal(m.Grid) && isPrefix(o.Bound.Edges, m.Bound.Edges)
		})
		if at < 0 {
			continue
		}
		all := of[at]
		m.Kept = z.keeps(m.Filter)
		z.Out.Kept = max(z.Out.Kept, m.Kept)
		if m.Kept < least {
			continue
		}
		own, common := m.Bound, ms[all].Bound
		if len(own.Edges) < len(common.Edges) { // for a centred sum
			common.Edges = own.Edges
		}
		for k := range ms {
			if c := ms[k].Bound; c != nil && c.Rows == own {
				c.Rows = common
			}
			if ms[k].Bound == own {
				ms[k].Bound, ms[k].Follows, ms[k].Kept = common, true, m.Kept
			}
		}
	}
	return nil
}

// isPrefix: the shorter one is the longer one's beginning.
func isPrefix(a, b []uint64) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// keeps is the part of a unit's rows that a condition is expected to keep: of the public values that each column can have, those for which it is true, all
// values alike and columns independent. 0: nothing is known.
func (z *Measurer) keeps(cond plan.Scalar) float64 {
	var ids []plan.ColID
	of := map[plan.ColID][]plan.Scalar{}
	for _, c := range plan.Conjuncts(cond) {
		id, ok := z.OnlyColumn(c)
		if !ok {
			return 0
		}
		if of[id] == nil {
			ids = append(ids, id)
		}
		of[id] = append(of[id], c)
	}
	part := 1.0
	for _, id := range ids {
		c := plan.AllOf(of[id])
		values, _, ok := z.ValuesOf(z.Owner[id], id, c)
		f, err := z.Function(c, id)
		if !ok || err != nil || len(values) == 0 || len(values) > groups.MostTried {
			return 0
		}
		kept := 0
		for _, v := range values {
			if is, err := f(v); err == nil && is == true {
				kept++
			}
		}
		part *= float64(kept) / float64(len(values))
	}
	return part
}
