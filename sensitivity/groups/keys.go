package groups

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/dpsql/dpsql/internal/base/sqlerr"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
	"github.com/dpsql/dpsql/sensitivity/relation"
	"github.com/dpsql/dpsql/sensitivity/scope"
	"github.com/dpsql/dpsql/sensitivity/unit"
)

// Grouper finds which groups are answered, and in how many of them one unit can be.
type Grouper struct {
	*unit.Linker

	Joined       map[*scope.ScanInfo]int            // the source of a public scan
	literals     map[*scope.ScanInfo]*literalSource // the source of a scan of constants
	Padded       map[int]bool                       // sources whose rows padding adds NULL to
	listedValues map[plan.ColID][]sqltype.Value     // the public values of columns of which conditions leave some out
	Near         *NearValues                        // of the whole statement; nil: none is sought
}

// NewGrouper is the pass over what was found of the unit.
func NewGrouper(z *unit.Linker) *Grouper {
	return &Grouper{Linker: z, Joined: map[*scope.ScanInfo]int{}, literals: map[*scope.ScanInfo]*literalSource{}, Padded: map[int]bool{}}
}

// Groups finds which groups are answered (8) and in how many of them one unit can be (7).
//
// Proof: of (8). A key is public only by a Source, whose tuples are read from the policy, the statement's literals or a public table (AddSource,
// ReadSource); the groups are public only if every key is and their product is at most MaxPublicGroups, of which nothing is private.
func (z *Grouper) Groups() error {
	a := z.Out
	for i, k := range a.Agg.Keys {
		a.Keys = append(a.Keys, sensitivity.Key{Col: k, Type: z.TypeOf(k), OfUnit: z.IsUnitDetermined(&plan.Col{ID: k, T: z.TypeOf(k)})})
		if err := z.AddSource(i); err != nil {
			return err
		}
	}
	count := uint64(1)
	for i := range a.Groups.Sources {
		if err := z.ReadSource(i); err != nil {
			return err
		}
	}
	a.Groups.Sources = slices.DeleteFunc(a.Groups.Sources, func(s sensitivity.Source) bool { return len(s.Keys) == 0 })
	z.pruneSources()
	for _, s := range a.Groups.Sources {
		count = relation.Mul(count, uint64(len(s.Tuples)))
		for _, k := range s.Keys {
			a.Keys[k].Public = true
		}
	}
	a.Groups.Public = count <= z.Opts.MaxPublicGroups
	for _, k := range a.Keys {
		a.Groups.Public = a.Groups.Public && k.Public
	}
	if len(a.Keys) == 0 {
		a.Groups.Public, count = true, 1
	}
	z.nullGroups()
	if a.Groups.Public {
		a.Groups.Count = count
	}
	if a.Pairs != nil {
		return z.pairGroups()
	}
	z.limit()
	return nil
}

// nullGroups notes the keys that may be NULL where the conditions are met, and whose public values have no NULL. Of a key that is computed from one column it is said of the column: what the function
// gives of the column's public values is listed.
func (z *Grouper) nullGroups() {
	a := z.Out
	for _, s := range a.Groups.Sources {
		for i, k := range s.Keys {
			null := slices.ContainsFunc(s.Tuples, func(t []sqltype.Value) bool { return t[i] == nil })
			id := a.Keys[k].Col
			if null || s.Complete || a.Keys[k].NotNull || s.Fixed && !s.Counts || !z.canKeyBeNull(&plan.Col{ID: id, T: z.TypeOf(id)}) {
				continue
			}
			if d, ok := z.Defs[z.Base(id)]; ok && d.In.Parent == nil {
				if only, ok := z.OnlyColumn(d.Expr); ok {
					id = only
				}
			}
			if of := z.Owner[z.Base(id)]; of != nil {
				if allowed, _ := z.Allowed(of, z.Base(id)); !allowed(nil) || !z.canKeyBeNull(&plan.Col{ID: id, T: z.TypeOf(id)}) { // no row has it: a condition leaves it out
					continue
				}
			}
			name := a.VisibleName(id)
			if name == "" {
				name = a.Query.Columns[id].Name
			}
			a.NullGroups = append(a.NullGroups, name)
		}
	}
}

// The limits on groups.
const (
	mostGroups = 64      // groups of one unit, where their number is chosen
	normGroups = 1 << 17 // of more groups vectors are not scaled
)

// limit bounds the groups of one unit (7).
//
// Proof: of (7), for each case in turn. Norm: PerUnit is the number of public groups, and no unit is in more. single: a unit has one row, hence one group
// (unit.Linker.hasOneRowPerUnit). No keys: one group. Still: no number of theirs is released, and no unit is in more groups than there are. Bounded: each key has one value a unit (IsUnitDetermined), or is a Source's, whose tuples the print filters by (Counts,
// sqlgen's domainFilters) or that has no others by its form (Fixed); a unit's tuple of keys is one of the product of the Tuples that Counts marks, times one; of a source's, those that a unit can have agree in the keys that have one value a unit (perUnit).
// Otherwise Capped: the print keeps PerUnit of a unit's groups (sqlgen.Private, (3)).
func (z *Grouper) limit() {
	a := z.Out
	per, bounded, still := uint64(1), true, z.hasNoMeasures()
	var names []string
	for i := range a.Groups.Sources {
		s := &a.Groups.Sources[i]
		if !slices.ContainsFunc(s.Keys, func(k int) bool { return !a.Keys[k].OfUnit }) {
			continue
		}
		s.Counts = true
		most := z.perUnit(s)
		per = relation.Mul(per, max(1, most))
		names = append(names, fmt.Sprintf("%d from %s", most, s.Why))
	}
	for _, k := range a.Keys {
		bounded = bounded && (k.Public || k.OfUnit)
	}
	switch {
	case z.Opts.Norm != sensitivity.NoNorm && !still && !z.needsOwnScan() && a.Groups.Public && a.Groups.Count <= normGroups && !z.Single && len(a.Keys) > 0 && len(names) > 0:
		a.Limit = sensitivity.GroupLimit{PerUnit: a.Groups.Count, Norm: z.Opts.Norm, Why: "no cap: a unit's whole vector is scaled to " + map[sensitivity.Norm]string{sensitivity.L1: "an L1 norm", sensitivity.L2: "a norm"}[z.Opts.Norm] + " that is chosen"}
	case z.Single:
		a.Limit = sensitivity.GroupLimit{PerUnit: 1, Why: "a unit has one row"}
	case len(a.Keys) == 0:
		a.Limit = sensitivity.GroupLimit{PerUnit: 1, Why: "one group"}
	case bounded && len(names) == 0:
		a.Limit = sensitivity.GroupLimit{PerUnit: 1, Why: "the unit determines the group"}
	case bounded && (per <= z.Opts.MaxGroups || z.Opts.ChooseGroups && per <= sensitivity.FewGroups):
		a.Limit = sensitivity.GroupLimit{PerUnit: per, Why: "no cap: groups of a unit are at most " + strings.Join(names, " x ")}
	case still:
		a.Limit = sensitivity.GroupLimit{PerUnit: a.Groups.Count, Why: "no cap: nothing is measured in them"}
	default:
		if z.Opts.ChooseGroups {
			most := uint64(mostGroups)
			if bounded {
				most = min(most, per)
			}
			a.Limit = sensitivity.GroupLimit{PerUnit: most, Capped: true, Why: "chosen; more groups of a unit are cut, by hash order", Cap: &sensitivity.Choice{Measure: -1, Edges: sensitivity.CandidateBounds(1, most)}}
			if bounded && per == most {
				a.Limit.Cap.Most = most
			}
			break
		}
		a.Limit = sensitivity.GroupLimit{PerUnit: z.Opts.MaxGroups, Capped: true, Why: fmt.Sprintf("max_groups %d: more groups of a unit are cut, by hash order", z.Opts.MaxGroups)}
	}
	if z.Opts.Norm == sensitivity.L2 && !still && a.Limit.Norm == 0 && (a.Limit.PerUnit > 1 || a.Limit.Capped) {
		a.Limit.NotL2 = fmt.Sprintf("vectors of more than %d groups are not scaled", normGroups)
		if !a.Groups.Public {
			a.Limit.NotL2 = "the groups are not public, so a vector over all of them has no bounds"
		} else if z.needsOwnScan() {
			a.Limit.NotL2 = "order statistics and numbers of distinct values are of rows that are kept, not scaled"
		}
	}
}

// perUnit is how many of a source's tuples one unit can have: those that agree in the keys of which it has one value each.
func (z *Grouper) perUnit(s *sensitivity.Source) (most uint64) {
	count := map[string]uint64{}
	for _, t := range s.Tuples {
		var own []sqltype.Value
		for i, k := range s.Keys {
			if z.Out.Keys[k].OfUnit {
				own = append(own, t[i])
			}
		}
		text := TupleText(own)
		count[text]++
		most = max(most, count[text])
	}
	return most
}

// hasNoMeasures: nothing is measured: the groups are public, and it is not asked what is in them.
func (z *Grouper) hasNoMeasures() bool {
	return len(z.Aggs) == 0 && z.Out.Groups.Public && (z.Opts.MinPeople <= 0 || len(z.Out.Agg.Keys) == 0)
}

// UnknownGroups refuses groups that would be chosen with noise, where there is no delta.
func (z *Grouper) UnknownGroups() error {
	err := sqlerr.New(sqlerr.UnknownGroups, "the groups of this statement are not public, and without delta they cannot be chosen with noise").At(z.Out.Agg.Pos)
	return z.PublicGroups(err)
}

// PublicGroups hints at how groups become public.
func (z *Grouper) PublicGroups(err *sqlerr.Error) *sqlerr.Error {
	for _, k := range z.Out.Keys {
		if s := z.Owner[z.Base(k.Col)]; !k.Public && s != nil {
			return err.WithHint("Group by columns with public values; the owner can declare values: for %s in the policy.", s.Column(slices.Index(s.Scan.Columns, z.Base(k.Col))))
		}
	}
	return err.WithHint("Group by columns whose values: the policy declares, by columns of public tables, or by CASE with constants.")
}

// Literal is the canonical form of a domain's value in a key's type: char(n) is padded as the database does it.
func Literal(v sqltype.Value, t sqltype.Type) sqltype.Value {
	switch x := v.(type) {
	case string:
		if t.OID != sqltype.OIDBPChar {
			return x
		}
		x = strings.TrimRight(x, " ")
		if n := int(t.Typmod) - 4; n > 0 {
			if short := n - len([]rune(x)); short > 0 {
				x += strings.Repeat(" ", short)
			}
		}
		return x
	case decimal.Decimal:
		if _, s, ok := t.NumericMod(); ok {
			return x.Round(int32(s)).Add(decimal.New(0, -int32(max(0, s))))
		}
		return relation.Trimmed(x)
	case float64:
		return x + 0 // -0 is 0
	}
	return v
}

// needsOwnScan: some of the aggregates will be read apart; of those no vector is scaled.
func (z *Grouper) needsOwnScan() bool {
	return slices.ContainsFunc(z.Out.Agg.Aggs, func(g plan.AggItem) bool {
		return g.Fn.Facts().IsPick || g.Distinct && (g.Fn == plan.Count && !z.IsUnitCount(g) || g.Fn == plan.Sum || g.Fn == plan.Avg)
	})
}

// pairGroups bounds the groups of one unit, of whichever kind: where keys do not depend on it, it may be in all.
func (z *Grouper) pairGroups() error {
	a := z.Out
	if !a.Groups.Public {
		return z.PublicGroups(unit.TwoUnits("GROUP BY of unknown groups", a.Agg.Pos))
	}
	if z.Opts.MinPeople > 0 && len(a.Keys) > 0 {
		return unit.TwoUnits("GROUP BY beside min_people", a.Agg.Pos).WithHint("Ask without GROUP BY: the policy hides groups of few people, who are not counted here.")
	}
	a.Limit = sensitivity.GroupLimit{PerUnit: 1, Why: "the units of both kinds determine the group"}
	if len(a.Keys) == 0 {
		a.Limit.Why = "one group"
	}
	for _, in := range z.Kinds {
		per := uint64(1)
		var names []string
		for i := range a.Groups.Sources {
			s := &a.Groups.Sources[i]
			if slices.ContainsFunc(s.Keys, func(k int) bool { return !in.IsUnitDetermined(&plan.Col{ID: a.Keys[k].Col, T: a.Keys[k].Type}) }) {
				s.Counts = true
				per = relation.Mul(per, uint64(max(1, len(s.Tuples))))
				names = append(names, fmt.Sprintf("%d from %s", len(s.Tuples), s.Why))
			}
		}
		if per > a.Limit.PerUnit || len(names) > 0 && per == 1 {
			a.Limit.PerUnit, a.Limit.Why = per, "no cap: groups of a unit are at most "+strings.Join(names, " x ")
		}
	}
	return nil
}
