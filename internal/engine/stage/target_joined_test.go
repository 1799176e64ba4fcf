package stage_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/engine/stage"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/rewrite/funcs"
)

// TestTargetJoined: where an error is asked for, the bound of joined rows is expected to shrink as the price grows: by a release of it at one price, its bound at another is expected to be what the same frequencies give there, or up to twice that (at ten times the price four times: the less a price, the less of a bound are frequencies), where the bound itself is many times as large.
func TestTargetJoined(t *testing.T) {
	s := enginetest.ClinicSession(t, enginetest.Tame, funcs.DuckDB, append(enginetest.AnyJoins[:2:2], "max_query_price: 5", "max_query_price: 50")...)
	const sql = "select dp_error(count(*)), count(*) from encounters a join encounters b on a.days = b.days"
	p, err := enginetest.Prepare(s, sql)
	if err != nil {
		t.Fatal(err)
	}
	st := p.Staged().Stages[0]
	edgeAt := func(epsilon float64, often uint64) (*price.Quote, int) {
		t.Helper()
		ask := st.Request
		ask.Epsilon = epsilon
		mp, err := price.New(st.An, ask)
		if err != nil {
			t.Fatal(err)
		}
		at, err := stage.ExpectedEdge(t.Context(), st.An, mp, []uint64{often, often})
		if err != nil {
			t.Fatal(err)
		}
		return mp, at
	}
	edges, shrunk := st.An.Choices[0].Edges, 0
	for _, often := range []uint64{3, 300, 30_000, 3_000_000} {
		for _, was := range []float64{0.05, 0.5, 2} {
			mp, at := edgeAt(was, often)
			by := &release.Release{Plan: mp, Chosen: price.Chosen{at}}
			for _, times := range []float64{0.2, 1, 3, 10} {
				now, want := edgeAt(was*times, often)
				got, err := stage.BoundsOf(t.Context(), st.An, by)(now)
				if err != nil {
					t.Fatal(err)
				}
				if ratio := float64(edges[got[0]]) / float64(edges[want]); ratio < 1 || ratio > 2 && times <= 3 || ratio > 4 {
					t.Errorf("of values %d times each, by a release at %g the bound at %g is expected to be %g times what it is", often, was, was*times, ratio)
				}
				if float64(edges[at]) > 3*float64(edges[want]) {
					shrunk++
				}
			}
		}
	}
	if shrunk < 5 {
		t.Errorf("%d bounds are much smaller at the higher price", shrunk)
	}
	enginetest.Set(t, s, "dpsql.price", "0.5")
	rows, err := enginetest.Try(s, sql)
	if err != nil {
		t.Fatal(err)
	}
	asked := rows[0][0].(float64) / 5
	own, err := p.Staged().OwnRelease(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.SetTarget(t, s, fmt.Sprint(asked))
	if p, err = enginetest.Prepare(s, sql); err != nil {
		t.Fatal(err)
	}
	aimed, _, err := p.Staged().SolveForTargetError(t.Context(), p.Staged().Stages, nil)
	if err != nil {
		t.Fatal(err)
	}
	mp, err := aimed[0].Price()
	if err != nil {
		t.Fatal(err)
	}
	at, err := stage.BoundsOf(t.Context(), st.An, own)(mp)
	if err != nil {
		t.Fatal(err)
	}
	run, err := mp.Resolve(st.An, at)
	if err != nil {
		t.Fatal(err)
	}
	v, err := run.Variance(0)
	if width := 1.96 * math.Sqrt(v); err != nil || width > 1.02*asked || width < 0.85*asked {
		t.Errorf("asked for an error of %g at price %g it is expected to be %g, %v", asked, mp.Price, width, err)
	}
}
