package engine_test

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dpsql/dpsql/budget/ledger"
	"github.com/dpsql/dpsql/internal/backend"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/base/sqltype"
	"github.com/dpsql/dpsql/internal/engine/answer"
	"github.com/dpsql/dpsql/internal/engine/finish"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

// TestDoneWhenAccuracy: one scan, 200 fresh releases, each charged on its own empty ledger; in at least 190 every count is within 4% of the truth, and in at least 140 within 2%: a part of the price chooses the bound, and a part
// tells what it takes away. In a trial 173 were within 2%; with that probability fewer than 140 are 1e-9.
func TestDoneWhenAccuracy(t *testing.T) {
	want := map[string]float64{"NO": 54864, ">30": 35545, "<30": 11357}
	good, better := 0, 0
	var rows [][]secret.Value
	var st *sqlgen.Statement
	others := map[string][][]secret.Value{}
	for i := range 200 {
		s := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst")
		p, err := enginetest.Prepare(s, enginetest.ByReadmitted)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			st, rows = enginetest.Scan(t, p)
		}
		p.Session.Engine.Backend = replay{s.Engine.Backend, rows, others}
		a, err := p.Run(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Engine.Ledger.Balance(ledger.Payer{Analyst: "analyst", Quota: 1})
		if err != nil || b.Dataset.Statements != 1 || b.Dataset.Spent.Renyi < 0.28 {
			t.Fatalf("the release was not charged: %+v, %v", b, err)
		}
		off := 0.0
		for _, r := range a.Rows {
			n, ok := r[1].(int64)
			if !ok { // NULL: no interval would hold it
				off = math.Inf(1)
			}
			off = math.Max(off, math.Abs(float64(n)/want[r[0].(string)]-1))
		}
		if len(a.Rows) == 3 && off <= 0.04 {
			good++
			if off <= 0.02 {
				better++
			}
		}
	}
	t.Logf("%d of 200 within 4%%, %d within 2%%; %d columns", good, better, len(st.Columns))
	if good < 190 || better < 140 {
		t.Errorf("only %d of 200 releases have every count within 4%%, %d within 2%%", good, better)
	}
}

// replay answers a transaction's first query with kept rows, and others, which follow from what was released, with the backend's, read once.
type replay struct {
	backend.Backend
	rows   [][]secret.Value
	others map[string][][]secret.Value // by their text
}

type replayTx struct {
	replay
	asked bool
}

func (r replay) Begin(context.Context) (backend.Tx, error) { return &replayTx{replay: r}, nil }
func (r *replayTx) Query(ctx context.Context, sql string, args []backend.Arg, types []sqltype.Type) (secret.Rows, error) {
	if !r.asked {
		r.asked = true
		return &enginetest.Kept{Rows: r.rows}, nil
	}
	text := fmt.Sprint(sql, args)
	if r.others[text] == nil {
		tx, err := r.Backend.Begin(ctx)
		if err != nil {
			return nil, err
		}
		defer tx.Close()
		rows, err := tx.Query(ctx, sql, args, types)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			r.others[text] = append(r.others[text], slices.Clone(rows.Row()))
		}
		if rows.Err() != nil {
			return nil, rows.Err()
		}
	}
	return &enginetest.Kept{Rows: r.others[text]}, nil
}
func (*replayTx) Close() {}

// TestDoneWhenPostgres: the same policy before a real PostgreSQL gives the same columns, types, groups, charge and error, and before
// any noise the same totals (where no cap by hash chooses groups); released values lie within 4 deviations of the un-noised
// ones. A noisy number is outside with probability 7e-5 (Gaussian) or 2e-2 (Laplace: e^-4); 10 of fewer than 150 outside has
// probability below 1e-9, as every noise here is Gaussian or the selection's.
func TestDoneWhenPostgres(t *testing.T) {
	duck, real := enginetest.DemoSession(t, enginetest.DemoDuck(t), "analyst"), enginetest.DemoSession(t, enginetest.DemoPostgres(t), "analyst")
	enginetest.Declared(t, duck)
	enginetest.Declared(t, real)
	numbers, outside := 0, 0
	for _, sql := range enginetest.BothStatements {
		pd, ad := enginetest.Ask(t, duck, sql)
		pr, ar := enginetest.Ask(t, real, sql)
		if d, r := fmt.Sprint(pd.Columns()), fmt.Sprint(pr.Columns()); !enginetest.SameColumns(pd.Columns(), pr.Columns()) {
			t.Errorf("%s: columns %s and %s", sql, d, r)
		}
		if d, r := keysOf(pd, ad), keysOf(pr, ar); d != r && pd.Analysis().Groups.Public {
			t.Errorf("%s: groups %s and %s", sql, d, r)
		}
		if d, r := strings.Split(ad.Notice, "; 95%")[0], strings.Split(ar.Notice, "; 95%")[0]; d != r {
			t.Errorf("%s: charged %q and %q", sql, d, r)
		}
		dt, rt := enginetest.Totals(t, pd), enginetest.Totals(t, pr)
		if !pd.Analysis().Limit.Capped {
			if len(dt) != len(rt) {
				t.Errorf("%s: %d and %d rows of totals", sql, len(dt), len(rt))
			}
			for k, dv := range dt {
				for i, v := range dv {
					if v != nil && (rt[k] == nil || rt[k][i].Cmp(v) != 0) {
						t.Errorf("%s: group %s, measure %d: the totals differ", sql, k, i)
					}
				}
			}
		}
		for _, p := range []*enginetest.Prepared{pd, pr} {
			n, o := deviations(t, p)
			numbers, outside = numbers+n, outside+o
		}
	}
	t.Logf("%d noisy numbers, %d beyond 4 deviations", numbers, outside)
	if outside >= 10 || numbers < 100 {
		t.Errorf("%d of %d noisy numbers are beyond 4 deviations", outside, numbers)
	}
}

// deviations releases a statement's totals once more and counts the noisy numbers beyond 4 deviations.
func deviations(t *testing.T, p *enginetest.Prepared) (numbers, outside int) {
	t.Helper()
	mp, err := enginetest.PriceOf(p.Session, p.Analysis())
	if err != nil {
		t.Fatal(err)
	}
	st, rows := enginetest.Scan(t, p)
	r, err := enginetest.ReleaseOnce(p, mp, st.Columns, &enginetest.Kept{Rows: rows}, noise.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	truth := enginetest.Totals(t, p)
	for _, g := range r.Groups {
		var key []string
		for _, k := range g.Keys {
			if k == nil {
				key = append(key, "NULL")
			} else {
				key = append(key, fmt.Sprint(k))
			}
		}
		vals := truth[strings.Join(key, "|")]
		for i, v := range g.Values {
			ev := mp.Measures[i]
			if ev == nil {
				ev = mp.Selections[0]
			}
			d, err := noise.DistributionOf(ev)
			if err != nil {
				t.Fatal(err)
			}
			was := new(big.Int)
			if vals != nil {
				was = vals[i]
			}
			diff, _ := new(big.Float).SetInt(new(big.Int).Sub(v, was)).Float64()
			numbers++
			if math.Abs(diff) > 4*d.StdDev() {
				outside++
			}
		}
	}
	if _, err := finish.Shown(context.Background(), p.Analysis(), r, 0, 1, nil); err != nil {
		t.Fatal(err)
	}
	return numbers, outside
}

func keysOf(p *enginetest.Prepared, a *answer.Answer) string {
	var keys []string
	for _, r := range a.Rows {
		if len(p.Analysis().Keys) > 0 {
			keys = append(keys, fmt.Sprint(r[0]))
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, ",")
}
