package neighbour

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/dialect"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
	"github.com/dpsql/dpsql/sensitivity"
)

// Histogram is what a statement with automatic bounds returns, read by the meaning of its columns alone.
type Histogram struct {
	Analysis *sensitivity.Analysis
	Rows     map[Slot]*Bucket
}

// Slot is what one row is for. The parts of choices have no group.
type Slot struct {
	Group        string
	Part         int
	Rank, Bucket int
}

// Bucket is what one row tells.
type Bucket struct {
	Count, Signed int64
	Sum           *big.Int
	Fixed         []*big.Int // a measure with declared bounds
}

// ReadHistogram runs a statement.
func ReadHistogram(ctx context.Context, db DB, a *sensitivity.Analysis, st *sqlgen.Statement) (*Histogram, error) {
	rows, err := db.Query(ctx, st)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, st.SQL)
	}
	h := &Histogram{a, map[Slot]*Bucket{}}
	for _, row := range rows {
		s, b := Slot{}, &Bucket{Sum: new(big.Int), Fixed: make([]*big.Int, len(a.Measures))}
		var keys []sqltype.Value
		for i, c := range st.Columns {
			if c.Role == sqlgen.RoleKey {
				keys = append(keys, row[i])
				continue
			}
			n, err := integer(row[i])
			if err != nil {
				return nil, err
			}
			switch c.Role {
			case sqlgen.RolePart:
				s.Part = int(n.Int64())
			case sqlgen.RoleRank:
				s.Rank = int(n.Int64())
			case sqlgen.RoleBucket:
				s.Bucket = int(n.Int64())
			case sqlgen.RoleCount:
				b.Count = n.Int64()
			case sqlgen.RoleSigned:
				b.Signed = n.Int64()
			case sqlgen.RoleSum:
				b.Sum = n
			case sqlgen.RoleMeasure:
				b.Fixed[c.Index] = n
			default:
				return nil, fmt.Errorf("neighbour: a column of role %s", c.Role)
			}
		}
		if s.Part >= 0 {
			s.Group = Group(keys)
		}
		if h.Rows[s] != nil {
			return nil, fmt.Errorf("neighbour: %+v comes twice", s)
		}
		h.Rows[s] = b
	}
	return h, nil
}

// Group spells a group's keys.
func Group(keys []sqltype.Value) string {
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%T:%v;", k, k)
	}
	return b.String()
}

// Text is the whole histogram in one order.
func (h *Histogram) Text() string {
	var out []string
	for s, b := range h.Rows {
		out = append(out, fmt.Sprintf("%q %d %d %d: %d %d %s %s", s.Group, s.Part, s.Rank, s.Bucket, b.Count, b.Signed, b.Sum, b.Fixed))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// Merged leaves out what differs between backends: the ranks of groups, and a char(n)'s padding.
func (h *Histogram) Merged() *Histogram {
	out := &Histogram{h.Analysis, map[Slot]*Bucket{}}
	for s, b := range h.Rows {
		s.Rank, s.Group = 0, padding.ReplaceAllString(s.Group, ";")
		out.add(s, b, 1)
	}
	return out
}

var padding = regexp.MustCompile(` +;`)

func (h *Histogram) add(s Slot, b *Bucket, sign int64) {
	at := h.Rows[s]
	if at == nil {
		at = &Bucket{Sum: new(big.Int), Fixed: make([]*big.Int, len(b.Fixed))}
		h.Rows[s] = at
	}
	times := func(x *big.Int) *big.Int { return new(big.Int).Mul(x, big.NewInt(sign)) }
	at.Count += sign * b.Count
	at.Signed += sign * b.Signed
	at.Sum.Add(at.Sum, times(b.Sum))
	for i, f := range b.Fixed {
		if f == nil {
			continue
		}
		if at.Fixed[i] == nil {
			at.Fixed[i] = new(big.Int)
		}
		at.Fixed[i].Add(at.Fixed[i], times(f))
	}
}

// Minus is what is in one histogram and not in the other: all that is read from it below is linear.
func (h *Histogram) Minus(other *Histogram) *Histogram {
	out := &Histogram{h.Analysis, map[Slot]*Bucket{}}
	for s, b := range h.Rows {
		out.add(s, b, 1)
	}
	for s, b := range other.Rows {
		out.add(s, b, -1)
	}
	zero := func(x *big.Int) bool { return x == nil || x.Sign() == 0 }
	maps.DeleteFunc(out.Rows, func(_ Slot, b *Bucket) bool {
		return b.Count == 0 && b.Signed == 0 && b.Sum.Sign() == 0 && !slices.ContainsFunc(b.Fixed, func(x *big.Int) bool { return !zero(x) })
	})
	return out
}

// Beyond is the number of units beyond each edge of a choice, as release reads it.
func (h *Histogram) Beyond(c *sensitivity.Choice) []int64 {
	part := -(c.Index + 1)
	if !h.Analysis.CountsUnitsSeparately() {
		part = c.Measure + 1
	}
	out := make([]int64, len(c.Edges))
	for s, b := range h.Rows {
		if s.Part == part {
			for e := range min(s.Bucket, len(out)) {
				out[e] += b.Count
			}
		}
	}
	return out
}

// Cap is one size of the cap of groups: the ranks up to At count, of which a unit has Groups.
type Cap struct {
	At     int
	Groups uint64
}

// Caps are those of an analysis, the largest one last.
func Caps(a *sensitivity.Analysis) []Cap {
	if a.Limit.Cap == nil {
		return []Cap{{math.MaxInt, a.Limit.PerUnit}}
	}
	var out []Cap
	for i, e := range a.Limit.Cap.Edges {
		out = append(out, Cap{i, e})
	}
	return out
}

// Clipped gives each group's total of a measure with an automatic bound at every edge, as release computes it.
func (h *Histogram) Clipped(i int, most Cap) map[string][]*big.Int {
	m := h.Analysis.Measures[i]
	out := map[string][]*big.Int{}
	for s, b := range h.Rows {
		if s.Part != i+1 || s.Rank > most.At {
			continue
		}
		if out[s.Group] == nil {
			for range m.Bound.Edges {
				out[s.Group] = append(out[s.Group], new(big.Int))
			}
		}
		for e, edge := range m.Bound.Edges {
			if part := b.Sum; s.Bucket > e {
				clip := new(big.Int).SetUint64(edge * m.Factor)
				out[s.Group][e].Add(out[s.Group][e], clip.Mul(clip, big.NewInt(b.Signed)))
			} else {
				out[s.Group][e].Add(out[s.Group][e], part)
			}
		}
	}
	return out
}

// Fixed gives each group's totals of the other measures, the number of its units last; nil where the statement does not tell.
func (h *Histogram) Fixed(most Cap) map[string][]*big.Int {
	out := map[string][]*big.Int{}
	for s, b := range h.Rows {
		if s.Part != sqlgen.PartTotals || s.Rank > most.At {
			continue
		}
		n := len(h.Analysis.Measures)
		if out[s.Group] == nil {
			out[s.Group] = make([]*big.Int, n+1)
			for i := range out[s.Group] {
				out[s.Group][i] = new(big.Int)
			}
		}
		v := out[s.Group]
		v[n].Add(v[n], big.NewInt(b.Count))
		for i, m := range h.Analysis.Measures {
			if m.Kind == sensitivity.Units {
				v[i].Add(v[i], big.NewInt(b.Count))
			} else if m.Bound == nil {
				v[i].Add(v[i], b.Fixed[i])
			}
		}
	}
	return out
}

// CompareHistograms reports the first claim that a database without one unit breaks, for every edge of every choice and every cap. It returns
// the largest change seen, as a share of the claim.
func CompareHistograms(before, after *Histogram) (share float64, err error) {
	a, gone := before.Analysis, before.Minus(after)
	for _, c := range a.Choices {
		for e, n := range gone.Beyond(c) {
			if n != 0 && n != 1 {
				return share, fmt.Errorf("choice %d: the number of units beyond %d changes by %d", c.Index+1, c.Edges[e], n)
			}
		}
	}
	use := func(d, limit *big.Int) {
		f, _ := new(big.Rat).SetFrac(new(big.Int).Abs(d), limit).Float64()
		share = max(share, f)
	}
	for _, most := range Caps(a) {
		for i, m := range a.Measures {
			if m.Bound == nil {
				continue
			}
			changed := make([]uint64, len(m.Bound.Edges))
			for k, v := range gone.Clipped(i, most) {
				for e, d := range v {
					if d.Sign() == 0 {
						continue
					}
					changed[e]++
					limit := new(big.Int).SetUint64(m.Bound.Edges[e] * m.Factor)
					if d.CmpAbs(limit) > 0 {
						return share, fmt.Errorf("measure %d of group %s, clipped at %s, changes by %s", i+1, k, limit, d)
					}
					use(d, limit)
				}
			}
			if n := slices.Max(changed); n > most.Groups {
				return share, fmt.Errorf("measure %d changes in %d groups, the cap is %d", i+1, n, most.Groups)
			}
		}
		changed := make([]uint64, len(a.Measures)+1)
		for k, v := range gone.Fixed(most) {
			for i, d := range v {
				limit := big.NewInt(1)
				if i < len(a.Measures) {
					limit.SetUint64(a.Measures[i].PerGroup)
				}
				if d.Sign() != 0 {
					changed[i]++
				}
				if d.CmpAbs(limit) > 0 {
					return share, fmt.Errorf("measure %d of group %s changes by %s, the claim is %s", i+1, k, d, limit)
				}
				use(d, limit)
			}
		}
		if n := slices.Max(changed); n > most.Groups {
			return share, fmt.Errorf("totals change in %d groups, the cap is %d", n, most.Groups)
		}
	}
	return share, nil
}

// Bug is planted in the print, in what was read of it, or in both.
type Bug struct {
	SQL  func(string) string
	Read func(*Histogram)
}

// Ask prints an analysis with automatic bounds and reads what comes back.
func (b Bug) Ask(ctx context.Context, db DB, a *sensitivity.Analysis, d dialect.Dialect) (*Histogram, error) {
	st, err := sqlgen.Private(a, d, 42)
	if err != nil {
		return nil, err
	}
	if b.SQL != nil {
		sql := b.SQL(st.SQL)
		if sql == st.SQL {
			return nil, fmt.Errorf("neighbour: the planted bug changes nothing in %s", st.SQL)
		}
		st.SQL = sql
	}
	h, err := ReadHistogram(ctx, db, a, st)
	if err == nil && b.Read != nil {
		b.Read(h)
	}
	return h, err
}

// Part is one (unit, group) row of an oracle: its unclipped partials in steps, nil for NULL, a measure; those with declared bounds are not looked at.
type Part struct {
	Unit, Group string
	Values      []*big.Int
}

// Against holds a histogram against all its parts at the largest cap: the number of units beyond every edge, every total at every edge, the
// groups' numbers of units, and at every cap how many parts count. only says which measures the oracle knows.
func (h *Histogram) Against(parts []Part, only func(measure int) bool) error {
	a := h.Analysis
	caps := Caps(a)
	groups := map[string]uint64{}
	for _, p := range parts {
		groups[p.Unit]++
	}
	for _, n := range groups {
		if a.Limit.Capped && n > caps[len(caps)-1].Groups {
			return fmt.Errorf("neighbour: a unit in %d groups: the oracle does not know which ones are cut", n)
		}
	}
	clamped := func(i int, x *big.Int) *big.Int {
		if hi := big.NewInt(a.Measures[i].Hi); x != nil && x.CmpAbs(hi) > 0 {
			return hi.Mul(hi, big.NewInt(int64(x.Sign())))
		}
		return x
	}
	for _, c := range a.Choices {
		if c != a.Limit.Cap && !only(c.Measure) {
			continue
		}
		largest := map[string]*big.Int{}
		for _, p := range parts {
			x := new(big.Int).SetUint64(groups[p.Unit])
			if c != a.Limit.Cap {
				if x = clamped(c.Measure, p.Values[c.Measure]); x == nil {
					continue
				}
			}
			if was := largest[p.Unit]; was == nil || x.CmpAbs(was) > 0 {
				largest[p.Unit] = x
			}
		}
		for e, got := range h.Beyond(c) {
			want := int64(0)
			for _, x := range largest {
				if x.CmpAbs(new(big.Int).SetUint64(c.Edges[e])) > 0 {
					want++
				}
			}
			if got != want {
				return fmt.Errorf("choice %d: %d units are beyond %d, they are %d", c.Index+1, got, c.Edges[e], want)
			}
		}
	}
	for i, m := range a.Measures {
		if m.Bound == nil || !only(i) {
			continue
		}
		want := map[string][]*big.Int{}
		for _, p := range parts {
			x := clamped(i, p.Values[i])
			if x == nil || x.Sign() == 0 {
				continue
			}
			if want[p.Group] == nil {
				for range m.Bound.Edges {
					want[p.Group] = append(want[p.Group], new(big.Int))
				}
			}
			for e, edge := range m.Bound.Edges {
				y := new(big.Int).SetUint64(edge * m.Factor)
				if x.CmpAbs(y) <= 0 {
					y.Set(x)
				} else if x.Sign() < 0 {
					y.Neg(y)
				}
				want[p.Group][e].Add(want[p.Group][e], y)
			}
		}
		if err := sameTotals(h.Clipped(i, caps[len(caps)-1]), want); err != nil {
			return fmt.Errorf("measure %d: %w", i+1, err)
		}
	}
	return h.ranksAgainst(parts, groups)
}

// ranksAgainst compares numbers of units: by group, and how many parts are within each cap.
func (h *Histogram) ranksAgainst(parts []Part, groups map[string]uint64) error {
	fixed := h.Fixed(Cap{At: math.MaxInt})
	if len(fixed) == 0 { // the statement does not tell
		return nil
	}
	units := map[string][]*big.Int{}
	for _, p := range parts {
		if units[p.Group] == nil {
			units[p.Group] = []*big.Int{new(big.Int)}
		}
		units[p.Group][0].Add(units[p.Group][0], big.NewInt(1))
	}
	got := map[string][]*big.Int{}
	for k, v := range fixed {
		got[k] = v[len(v)-1:]
	}
	if err := sameTotals(got, units); err != nil {
		return fmt.Errorf("units: %w", err)
	}
	for _, most := range Caps(h.Analysis) {
		if h.Analysis.Limit.Cap == nil {
			return nil
		}
		want, sum := int64(0), int64(0)
		for _, n := range groups {
			want += int64(min(n, most.Groups))
		}
		for _, v := range h.Fixed(most) {
			sum += v[len(v)-1].Int64()
		}
		if sum != want {
			return fmt.Errorf("%d parts are within a cap of %d, they are %d", sum, most.Groups, want)
		}
	}
	return nil
}

func sameTotals(got, want map[string][]*big.Int) error {
	for _, m := range []map[string][]*big.Int{got, want} {
		for k, v := range m {
			for e := range v {
				if g, w := at(got[k], e), at(want[k], e); g.Cmp(w) != 0 {
					return fmt.Errorf("group %s, edge number %d: %s, it is %s", k, e+1, g, w)
				}
			}
		}
	}
	return nil
}
