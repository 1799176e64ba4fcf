package prooftest

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/plan"
	"github.com/dpsql/dpsql/sensitivity"
)

// cube is a relation with columns to group by, conditions on them, other conditions, and aggregates.
type cube struct {
	from             string
	keys, conds      []string
	others, measures []string
}

var cubes = []cube{
	{
		from: "patients", keys: []string{"gender", "ward", "active", "smoker", "weight > 70", "case when gender = 'Male' then 1 else 0 end"},
		conds:    []string{"gender = 'Female'", "gender in ('Male', 'Female')", "ward is null", "ward = 'A'", "active", "not active", "smoker is true", "smoker is null or not smoker", "weight > 70", "gender <> 'Male'"},
		others:   []string{"account > 0", "city_id < 4", "race is not null"},
		measures: []string{"count(*)", "sum(weight)", "avg(account)", "count(distinct patient_id)", "count(race)", "count(distinct race)", "stddev_pop(weight)", "bool_or(account > 0)", "sum(account)", "avg(weight)"},
	},
	{
		from: "encounters e join patients p on p.patient_id = e.patient_id join kinds k on k.id = e.kind_id", keys: []string{"p.gender", "e.readmitted", "e.kind_id", "k.label", "p.active", "e.days > 5", "p.ward"},
		conds:  []string{"p.gender = 'Female'", "e.readmitted in ('NO', '<30')", "e.readmitted = '>30'", "e.readmitted <> 'NO'", "e.kind_id = 2", "e.kind_id in (1, 3)", "e.kind_id > 1", "k.label = 'Urgent'", "p.active", "e.days > 5", "p.ward is null"},
		others: []string{"e.cost > 10", "e.score > 0", "exists (select 1 from labs l where l.patient_id = p.patient_id)"},
		measures: []string{"count(*)", "sum(e.days)", "avg(e.cost)", "count(distinct e.patient_id)", "count(*) filter (where e.days > 3)", "var_pop(e.days)", "count(distinct e.diag)", "sum(e.score)", "sum(e.cost)", "avg(e.days)", "avg(e.score)",
			"sum(e.days) filter (where e.days > 3)", "avg(e.days) filter (where e.days > 3)"},
	},
	{
		from: "encounters", keys: []string{"readmitted", "kind_id", "days > 3", "days between 2 and 4"},
		conds:    []string{"readmitted = 'NO'", "readmitted = 'NO' or readmitted = '>30'", "kind_id between 1 and 2", "days > 3", "kind_id = 99", "readmitted = 'never'"},
		others:   []string{"cost > 10"},
		measures: []string{"count(*)", "sum(cost)", "avg(days)", "max(days)", "bool_and(days > 1)", "sum(days * medications)", "avg(cost)", "sum(days)", "avg(days * medications)"},
	},
}

// some are some of a list, in its order or another one.
func some(rng *rand.Rand, list []string, most int) []string {
	n := rng.IntN(min(most, len(list)) + 1)
	var out []string
	for _, i := range rng.Perm(len(list))[:n] {
		out = append(out, list[i])
	}
	return out
}

func question(from string, keys, conds, measures []string) string {
	sql := "select " + strings.Join(append(slices.Clone(keys), measures...), ", ") + " from " + from
	if len(conds) > 0 {
		sql += " where " + strings.Join(conds, " and ")
	}
	for i := range keys {
		sql += map[bool]string{true: " group by ", false: ", "}[i == 0] + strconv.Itoa(i+1)
	}
	return sql
}

// beforeNoise is the release of a statement that noise of scale nothing would give, with the public groups that nobody is in.
func beforeNoise(t testing.TB, p *enginetest.Prepared) *release.Release {
	t.Helper()
	a := p.Analysis()
	r := enginetest.Unnoised(t, p)
	r.Plan = &price.Quote{Price: 1, Mechanism: price.Laplace, UnitsFromSelection: -1, Measures: r.Run.Measures}
	for range a.Choices {
		r.Plan.Choices, r.Chosen = append(r.Plan.Choices, dp.Choice{}), append(r.Chosen, 0)
	}
	if !a.Groups.Public {
		return r
	}
	at := map[string][]*big.Int{}
	for _, g := range r.Groups {
		at[keysText(a, g.Keys)] = g.Values
	}
	r.Groups = nil
	for _, tuple := range tuplesOf(a) {
		g := release.Group{Keys: tuple, Values: at[keysText(a, tuple)]}
		if g.Values == nil {
			g.Values = make([]*big.Int, len(a.Measures))
		}
		for i, v := range g.Values {
			if v == nil {
				g.Values[i] = new(big.Int)
			}
		}
		r.Groups = append(r.Groups, g)
	}
	return r
}

func tuplesOf(a *sensitivity.Analysis) [][]sqltype.Value {
	out := [][]sqltype.Value{make([]sqltype.Value, len(a.Keys))}
	for _, s := range a.Groups.Sources {
		var next [][]sqltype.Value
		for _, o := range out {
			for _, t := range s.Tuples {
				n := slices.Clone(o)
				for i, k := range s.Keys {
					n[k] = t[i]
				}
				next = append(next, n)
			}
		}
		out = next
	}
	return out
}

func keysText(a *sensitivity.Analysis, keys []sqltype.Value) string {
	var out []string
	for i, v := range keys {
		if v == nil {
			out = append(out, "NULL")
		} else {
			out = append(out, "= "+sqltype.FormatText(v, a.Keys[i].Type))
		}
	}
	return strings.Join(out, ", ")
}

func totalsText(a *sensitivity.Analysis, r *release.Release) string {
	var out []string
	for _, g := range r.Groups {
		out = append(out, fmt.Sprintf("%s: %v", keysText(a, g.Keys), g.Values))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// sameAggregates: two forms of an analysis differ in how sums are computed alone, of the same values of the same rows.
func sameAggregates(a, b *sensitivity.Analysis) error {
	of := func(a *sensitivity.Analysis, i int, kind bool) string {
		if i < 0 {
			return ""
		}
		m, text := a.Measures[i], ""
		if kind {
			text = string(m.Kind)
		}
		for _, x := range []plan.Scalar{m.Arg, m.Filter} {
			if x != nil {
				text += " " + plan.FormatScalar(a.Query, x)
			}
			text += ";"
		}
		return text
	}
	for i, f := range a.Formulas {
		g := b.Formulas[i]
		pair := f.Kind == sensitivity.IsSum && g.Kind == sensitivity.IsSumFromPair
		switch {
		case f.Agg != g.Agg || f.Kind != g.Kind && !pair:
			return fmt.Errorf("aggregate %d: %s, not %s", i, g.Kind, f.Kind)
		case pair && (of(a, f.Sum, false) != of(b, g.Sum, false) || b.Measures[g.Sum].Kind != sensitivity.CentredSum || f.Count >= 0 || g.Count < 0):
			return fmt.Errorf("aggregate %d: %s, not %s", i, of(b, g.Sum, true), of(a, f.Sum, true))
		}
		for n, at := range f.Uses() {
			if have, want := of(b, g.Uses()[n], true), of(a, at, true); !pair && have != want {
				return fmt.Errorf("aggregate %d uses %s, not %s", i, have, want)
			}
		}
	}
	return nil
}

// TestGeneratedComputed: what is computed from a release of another question has the totals that the question itself would have, before noise: groups, clamped parts, all of it. On data that breaks the policy's
// declarations too: no sum of groups rests on them.
func TestGeneratedComputed(t *testing.T) {
	n, seed := 120, uint64(1)
	if v, err := strconv.Atoi(os.Getenv("GENERATE_STATEMENTS")); err == nil {
		n = v
	}
	if v, err := strconv.ParseUint(os.Getenv("GENERATE_SEED"), 10, 64); err == nil {
		seed = v
	}
	got := map[string]int{}
	for _, world := range []enginetest.Clinic{enginetest.Tame, enginetest.Wild} {
		s := enginetest.ClinicSession(t, world, funcs.DuckDB)
		enginetest.Set(t, s, "dpsql.max_groups", "30")
		for i := range uint64(n) {
			rng := rand.New(rand.NewPCG(seed, i))
			c := cubes[rng.IntN(len(cubes))]
			keys, measures, others := some(rng, c.keys, 3), append(some(rng, c.measures[1:], 3), c.measures[0]), some(rng, c.others, 1)
			stored := question(c.from, keys, others, measures)
			fewer, less := keys, measures
			if rng.IntN(3) > 0 {
				fewer = some(rng, keys, 3)
			}
			if rng.IntN(3) > 0 {
				less = append(some(rng, measures, 2), measures[rng.IntN(len(measures))])
			}
			if at := slices.IndexFunc(measures, func(m string) bool { return strings.HasPrefix(m, "avg(") }); at >= 0 && rng.IntN(2) == 0 { // a sum alone that stood beside its average
				sum, avg := "sum"+strings.TrimPrefix(measures[at], "avg"), measures[at]
				stored = question(c.from, keys, others, append(slices.Clone(measures), sum))
				less = append(slices.DeleteFunc(slices.Clone(less), func(m string) bool { return m == avg }), sum)
			}
			more := some(rng, slices.DeleteFunc(slices.Clone(c.conds), func(cond string) bool { // most of them on keys
				return rng.IntN(10) > 0 && !slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(cond, strings.Fields(k)[0]) })
			}), 2)
			asked := question(c.from, fewer, append(slices.Clone(more), others...), less)
			was, err := enginetest.Prepare(s, stored)
			is, err2 := enginetest.Prepare(s, asked)
			if err != nil || err2 != nil || len(was.Staged().Stages) != 1 || len(is.Staged().Stages) != 1 {
				got["refused"]++
				continue
			}
			from, to := was.Staged().ReuseCandidate(was.Staged().Stages[0], nil), is.Staged().ReuseCandidate(is.Staged().Stages[0], nil)
			if from == nil || to == nil || !slices.Contains(to.Families(), from.Family()) {
				got["no kin"]++
				continue
			}
			old := beforeNoise(t, was)
			old.Shape = from.Shape()
			r, an := stage.ComputedFrom(to, old)
			if r == nil {
				got["asked anew"]++
				continue
			}
			if an != is.Analysis() {
				got["sums from pairs"]++
				if err := sameAggregates(is.Analysis(), an); err != nil {
					t.Errorf("%s from\n%s: %v", asked, stored, err)
				}
				is = is.WithAnalysis(an)
			}
			kind := "the same groups"
			if len(fewer) < len(keys) {
				kind = "sums"
			}
			if len(more) > 0 {
				kind += " of some groups"
			}
			got[kind]++
			if have, want := totalsText(is.Analysis(), r), totalsText(is.Analysis(), beforeNoise(t, is)); have != want {
				t.Errorf("%s, from\n%s\n%s\nis\n%s\nnot\n%s", world.Name, stored, asked, have, want)
			}
		}
	}
	t.Log(counted(got))
	for _, kind := range []string{"the same groups", "the same groups of some groups", "sums", "sums of some groups", "sums from pairs", "asked anew"} {
		if got[kind] < n/50 {
			t.Errorf("%s: %d", kind, got[kind])
		}
	}
}
