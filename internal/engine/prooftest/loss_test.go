package prooftest

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/session"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

const (
	falseAlarm = 1e-9
	draws      = 108_000
	reality    = 1000 // persons in each group
)

// lossCase is a statement in which a person is in one group, so that each group of a release is a draw of its own.
type lossCase struct {
	name, sql, mechanism string
}

var lossCases = []lossCase{
	{"count with Laplace noise", "select gender, ward, active, smoker, count(*) from patients group by 1, 2, 3, 4", "laplace"},
	{"count of a selection", "select race, count(distinct patient_id) from patients group by race", "laplace"},
}

// TestReleasedLoss: of what a release gives on two databases that differ by one person, every interval and every value of a
// group's count has probabilities within e^epsilon and delta of each other, as the plan's loss claims. Each of the 126 events is
// held by exact binomial bounds (Clopper, Pearson) of level 1e-9/504, so that the test's false alarm is below 1e-9. With scales
// times 0.9 and the same claim it fails.
func TestReleasedLoss(t *testing.T) {
	for _, c := range lossCases {
		t.Run(c.name, func(t *testing.T) {
			s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
			enginetest.Set(t, s, "dpsql.price", "1")
			enginetest.Set(t, s, "dpsql.mechanism", c.mechanism)
			p, err := enginetest.Prepare(s, c.sql)
			if err != nil {
				t.Fatal(err)
			}
			mp, err := enginetest.PriceOf(s, p.Analysis())
			if err != nil {
				t.Fatal(err)
			}
			if l := mp.Loss.Pure; !(l > 0.9 && l <= 1) {
				t.Fatalf("the claim is %g", l)
			}
			if err := distinguish(mp.Loss, drawCounts(t, p, mp, reality), drawCounts(t, p, mp, reality-1)); err != nil {
				t.Error(err)
			}
			bad := lessNoise(mp)
			if err := distinguish(mp.Loss, drawCounts(t, p, bad, reality), drawCounts(t, p, bad, reality-1)); err == nil {
				t.Error("scales times 0.9 are not found")
			}
		})
	}
}

// lessNoise is a plan with all scales times 0.9.
func lessNoise(mp *price.Quote) *price.Quote {
	less := func(s dp.Scale) dp.Scale { return dp.Scale{Num: s.Num * 9 / 10, Den: s.Den} }
	out := *mp
	out.Measures = nil
	for _, ev := range mp.Measures {
		switch e := ev.(type) {
		case dp.Laplace:
			e.Scale = less(e.Scale)
			ev = e
		case dp.Gaussian:
			e.Scale = less(e.Scale)
			ev = e
		}
		out.Measures = append(out.Measures, ev)
	}
	out.Selections = nil
	for _, sel := range mp.Selections {
		sel.Scale = less(sel.Scale)
		out.Selections = append(out.Selections, sel)
	}
	return &out
}

// drawCounts releases groups that all have the same total until there are enough, and gives their noisy counts; one that was
// not kept is missing.
func drawCounts(t *testing.T, p *enginetest.Prepared, mp *price.Quote, total int64) map[int64]int {
	t.Helper()
	st, err := sqlgen.Private(p.Analysis(), p.Session.Engine.Dialect, 7)
	if err != nil {
		t.Fatal(err)
	}
	var keys [][]sqltype.Value
	if p.Analysis().Groups.Public {
		r, err := enginetest.ReleaseOnce(p, mp, st.Columns, session.NoRows{}, noise.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range r.Groups {
			keys = append(keys, g.Keys)
		}
	} else {
		for i := range 36 {
			keys = append(keys, []sqltype.Value{fmt.Sprint(i)})
		}
	}
	var rows [][]secret.Value
	for _, k := range keys {
		row := make([]secret.Value, len(st.Columns))
		for i, c := range st.Columns {
			row[i] = secret.Of(total)
			if c.Role == sqlgen.RoleKey {
				row[i] = secret.Of(k[c.Index])
			}
		}
		rows = append(rows, row)
	}
	src := noise.NewSource()
	out := map[int64]int{}
	for range draws / len(keys) {
		r, err := enginetest.ReleaseOnce(p, mp, st.Columns, &enginetest.Kept{Rows: rows}, src)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range r.Groups {
			out[g.Values[0].Int64()]++
		}
	}
	return out
}

// distinguish looks for an event whose probabilities differ by more than the loss, for certain but for the level.
func distinguish(claim dp.Loss, with, without map[int64]int) error {
	const reach = 10
	level := falseAlarm / (4 * 3 * (2*reach + 1))
	for k := int64(reality - reach); k <= reality+reach; k++ {
		for name, in := range map[string]func(int64) bool{
			"at most": func(x int64) bool { return x <= k }, "at least": func(x int64) bool { return x >= k }, "exactly": func(x int64) bool { return x == k },
		} {
			a, b := among(with, in), among(without, in)
			for _, pair := range [][2]int{{a, b}, {b, a}} {
				low, high := atLeast(pair[0], level), atMost(pair[1], level)
				if low > math.Exp(claim.Pure)*high+claim.Delta {
					return fmt.Errorf("%s %d: at least %.5f beside at most %.5f, a loss of %.3f; the claim is %.3f", name, k, low, high, math.Log(low/high), claim.Pure)
				}
			}
		}
	}
	return nil
}

func among(drawn map[int64]int, in func(int64) bool) (n int) {
	for x, k := range drawn {
		if in(x) {
			n += k
		}
	}
	return n
}

// atLeast and atMost bound the probability of an event that came n times in draws.
func atLeast(n int, level float64) float64 {
	if n == 0 {
		return 0
	}
	return mathext.InvRegIncBeta(float64(n), float64(draws-n+1), level)
}

func atMost(n int, level float64) float64 {
	if n == draws {
		return 1
	}
	return 1 - mathext.InvRegIncBeta(float64(draws-n), float64(n+1), level)
}

// TestReleasedSpread: the Gaussian noise of a release has the variance that its Renyi price asks for. A mean of squares of variance
// v and fourth moment 3v^2 falls below v by sqrt(6 ln(1/alpha)/draws), 3.4% for alpha 1e-9, with probability below alpha (one-sided
// Bernstein for non-negative numbers). With scales times 0.9 it is 19% below.
func TestReleasedSpread(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB)
	enginetest.Set(t, s, "dpsql.mechanism", "gaussian")
	p, err := enginetest.Prepare(s, lossCases[0].sql)
	if err != nil {
		t.Fatal(err)
	}
	mp, err := enginetest.PriceOf(s, p.Analysis())
	if err != nil {
		t.Fatal(err)
	}
	order := enginetest.FilterOf(s.Engine).Order
	slack := math.Sqrt(6 * math.Log(1/falseAlarm) / draws)
	enough := func(mp2 *price.Quote) bool {
		squares := 0.0
		for x, n := range drawCounts(t, p, mp2, reality) {
			squares += float64(n) * float64(x-reality) * float64(x-reality)
		}
		return order/(2*squares/draws) <= mp.Loss.Renyi/(1-slack)
	}
	if !enough(mp) {
		t.Error("the noise is less than its price says")
	}
	if enough(lessNoise(mp)) {
		t.Error("scales times 0.9 are not found")
	}
}
