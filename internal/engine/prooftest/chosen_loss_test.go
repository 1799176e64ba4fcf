package prooftest

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"github.com/dpsql/dpsql/internal/base/dp"
	"github.com/dpsql/dpsql/internal/base/secret"
	"github.com/dpsql/dpsql/internal/engine/price"
	"github.com/dpsql/dpsql/internal/engine/release"
	"github.com/dpsql/dpsql/internal/testkit/enginetest"
	"github.com/dpsql/dpsql/internal/testkit/neighbour"
	"github.com/dpsql/dpsql/noise"
	"github.com/dpsql/dpsql/rewrite/funcs"
	"github.com/dpsql/dpsql/rewrite/sqlgen"
)

// chosenDraws is how often each side is released; planted bugs are drawn ten times as often, from a fixed seed.
const chosenDraws = 6_000

// drawn is one release: which edge was chosen, and how far its values lie from the first database's, in scales of their noise, along the direction in
// which the leaver moves them.
type drawn struct {
	edge int
	z    float64
}

// side is one database of a case.
type side struct {
	st     *sqlgen.Statement
	rows   [][]secret.Value
	units  []int64              // by edge: beyond it
	parts  []int64              // by edge: partials beyond it
	both   []int64              // by edge: partials of any measure beyond it
	all    [3]int64             // units, partials, partials of any measure, beyond 0
	totals map[place][]*big.Int // by edge
	most   uint64               // the largest partial's edge
	runs   map[int][]dp.Event   // by edge: what noise the product had
}

// place is a measure's group.
type place struct {
	measure int
	group   string
}

// readSide reads the parts that a scan gave, by the roles of their columns alone.
func readSide(t *testing.T, p *enginetest.Prepared) *side {
	t.Helper()
	st, rows := enginetest.Scan(t, p)
	edges := p.Analysis().Choices[0].Edges
	s := &side{st: st, rows: rows, units: make([]int64, len(edges)), parts: make([]int64, len(edges)), both: make([]int64, len(edges)), totals: map[place][]*big.Int{}, runs: map[int][]dp.Event{}}
	for _, row := range rows {
		var key string
		var part, bucket, count, signs int64
		var sum *big.Int
		for i, c := range st.Columns {
			v := secret.Open(row[i])
			switch c.Role {
			case sqlgen.RoleKey:
				key += fmt.Sprint(v)
			case sqlgen.RolePart:
				part = enginetest.Whole(v).Int64()
			case sqlgen.RoleBucket:
				bucket = enginetest.Whole(v).Int64()
			case sqlgen.RoleCount:
				count = enginetest.Whole(v).Int64()
			case sqlgen.RoleSigned:
				signs = enginetest.Whole(v).Int64()
			case sqlgen.RoleSum:
				sum = enginetest.Whole(v)
			}
		}
		if part == sqlgen.PartTotals {
			continue
		}
		at := place{int(part) - 1, key}
		switch {
		case part < 0:
			s.all[0] += count
		case at.measure == p.Analysis().Choices[0].Measure:
			s.all[1] += count
		}
		if part > 0 {
			s.all[2] += count
		}
		for e := range bucket {
			switch {
			case part < 0:
				s.units[e] += count
				continue
			case at.measure == p.Analysis().Choices[0].Measure:
				s.parts[e] += count
			}
			s.both[e] += count
		}
		if part < 0 {
			continue
		}
		if s.totals[at] == nil {
			for range edges {
				s.totals[at] = append(s.totals[at], new(big.Int))
			}
		}
		for e, edge := range edges {
			if int64(e) >= bucket {
				s.totals[at][e].Add(s.totals[at][e], sum)
			} else {
				s.totals[at][e].Add(s.totals[at][e], new(big.Int).Mul(big.NewInt(signs), new(big.Int).SetUint64(edge)))
			}
		}
		if bucket < int64(len(edges)) {
			s.most = max(s.most, edges[bucket])
		}
	}
	if !p.Analysis().CountsUnitsSeparately() {
		s.units, s.all[0] = s.parts, s.all[1]
	}
	return s
}

// direction is which way each total moves when the leaver goes.
func direction(with, without *side, edge int) map[place]float64 {
	out := map[place]float64{}
	for key, v := range with.totals {
		was := new(big.Int)
		if w := without.totals[key]; w != nil {
			was = w[edge]
		}
		out[key] = float64(v[edge].Cmp(was))
	}
	return out
}

// along says where a release's values are, in scales of their measures' noise.
func along(with *side, dir map[place]float64, edge int, scales []float64, value func(place) float64) drawn {
	z := 0.0
	for key, d := range dir {
		at, _ := new(big.Float).SetInt(with.totals[key][edge]).Float64()
		z += d * (value(key) - at) / scales[key.measure]
	}
	return drawn{edge, z}
}

// toppedUp gives the releases that come of topping releases up with the rows of a side, to twice the price.
func toppedUp(t *testing.T, p *enginetest.Prepared, of *side, src *noise.Source) func(*release.Release) *release.Release {
	asks := p.Session.Request()
	asks.Epsilon *= 2
	plans := map[int]*price.Quote{}
	return func(r *release.Release) *release.Release {
		edge, _ := r.Plan.Edge(p.Analysis().Choices[0], r.Chosen)
		if plans[edge] == nil {
			top, err := price.TopUp(p.Analysis(), r.Run, r.Plan.Price, asks)
			if err != nil {
				t.Fatal(err)
			}
			if loss := top.Loss.Pure + r.Plan.Loss.Pure; !(loss > 0.95*asks.Epsilon && loss <= asks.Epsilon) {
				t.Fatalf("a top-up loses %g, in all %g of %g", top.Loss.Pure, loss, asks.Epsilon)
			}
			plans[edge] = top
		}
		m, err := release.NewTopUp(p.Analysis(), plans[edge], r, src)
		if err != nil {
			t.Fatal(err)
		}
		again, err := m.Read(of.st.Columns, &enginetest.Kept{Rows: of.rows})
		if err != nil {
			t.Fatal(err)
		}
		return again
	}
}

// product draws from dpsql's own choice and release of a database's rows; of what again makes of a release, if it is not nil.
func product(t *testing.T, p *enginetest.Prepared, mp *price.Quote, draws int, of, with, without *side, again func(*release.Release) *release.Release) []drawn {
	t.Helper()
	src := noise.NewSource()
	out := make([]drawn, draws)
	dirs := map[int]map[place]float64{}
	for i := range out {
		r, err := enginetest.ReleaseOnce(p, mp, of.st.Columns, &enginetest.Kept{Rows: of.rows}, src)
		if err != nil {
			t.Fatal(err)
		}
		edge, _ := r.Plan.Edge(p.Analysis().Choices[0], r.Chosen)
		if dirs[edge] == nil {
			dirs[edge] = direction(with, without, edge)
			of.runs[edge] = r.Run.Measures
		}
		if again != nil {
			r = again(r)
		}
		out[i] = along(with, dirs[edge], edge, scalesOf(r.Run), func(at place) float64 {
			for _, g := range r.Groups {
				k := ""
				for _, v := range g.Keys {
					k += fmt.Sprint(v)
				}
				if k == at.group {
					f, _ := new(big.Float).SetInt(g.Values[at.measure]).Float64()
					return f
				}
			}
			t.Fatalf("no group %q", at.group)
			return 0
		})
	}
	return out
}

// scalesOf are the scales of its noise.
func scalesOf(run *price.Run) []float64 {
	var out []float64
	for _, ev := range run.Measures {
		out = append(out, ev.(dp.Laplace).Scale.Float())
	}
	return out
}

// careless draws from a choice and release that are written anew here, with a bug; "" has none.
func careless(t *testing.T, p *enginetest.Prepared, mp *price.Quote, draws int, of, with, without *side, bug string, rnd *rand.Rand) []drawn {
	t.Helper()
	ev, ok := mp.Choices[0].(dp.AboveThreshold)
	if !ok {
		t.Fatalf("a choice is %T", mp.Choices[0])
	}
	dirs, runs := map[int]map[place]float64{}, map[int][]float64{}
	out := make([]drawn, draws)
	units, all := of.units, of.all[0]
	switch bug {
	case "partials counted for units":
		units, all = of.parts, of.all[1]
	case "units of both parts counted":
		units, all = of.both, of.all[2]
	}
	scale, threshold := ev.Scale.Float(), float64(ev.Threshold)
	switch bug {
	case "no noise on the choice":
		scale = 1e-9
	case "scale of the choice halved":
		scale /= 2
	case "threshold from the data": // the less, the larger the largest
		threshold *= math.Pow(1000/float64(of.most), 8)
	}
	lowered := func() float64 { return math.Floor(scale * rnd.ExpFloat64()) }
	choose := func() int {
		limit := threshold - lowered()
		if bug == "no noise on the threshold" {
			limit = threshold
		}
		numbers := append([]int64{all - int64(ev.Margin)}, units...) //nolint:gosec // small
		for e := range int(ev.Edges) {
			if float64(numbers[e])-lowered() <= limit {
				return price.AppliedEdge(p.Analysis(), e-1, ev.Edges)
			}
		}
		return int(ev.Edges) - 1
	}
	for i := range out {
		edge := max(0, choose())
		clip := p.Analysis().Choices[0].Edges[edge]
		if dirs[edge] == nil {
			dirs[edge] = direction(with, without, edge)
			run, err := mp.Resolve(p.Analysis(), price.Chosen{edge})
			if err != nil {
				t.Fatal(err)
			}
			runs[edge] = scalesOf(run)
		}
		out[i] = along(with, dirs[edge], edge, runs[edge], func(key place) float64 {
			at, scale := 0.0, runs[edge][key.measure]
			if bug == "scale from the data" {
				scale *= float64(of.most) / float64(clip)
			}
			if v := of.totals[key]; v != nil {
				at, _ = new(big.Float).SetInt(v[edge]).Float64()
			}
			return at + math.Floor(scale*rnd.ExpFloat64()) - math.Floor(scale*rnd.ExpFloat64()) // geometric numbers' difference is discrete Laplace
		})
	}
	return out
}

// middles are, by edge, where the values are that were drawn: events are asked about there.
func middles(list []drawn) map[int]float64 {
	slices.SortFunc(list, func(a, b drawn) int { return cmp.Compare(a.z, b.z) })
	at := map[int][]float64{}
	for _, d := range list {
		at[d.edge] = append(at[d.edge], d.z)
	}
	out := map[int]float64{}
	for edge, z := range at {
		out[edge] = z[len(z)/2]
	}
	return out
}

// tellsApart looks for an event, of edges or of edges and a value, whose probabilities differ by more than is claimed, for certain but for false alarms
// below falseAlarm: edges alone by the choice's own loss, both together by the statement's. Each probability is held by exact binomial bounds (Clopper, Pearson).
func tellsApart(choice, all float64, edges int, with, without []drawn) error {
	const reach = 12 // half scales
	counts := func(list []drawn) (n [][2*reach + 2]int) {
		n = make([][2*reach + 2]int, edges) // by edge: values at least (k - reach)/2; last: all
		for _, d := range list {
			for k := range 2*reach + 1 {
				if d.z >= float64(k-reach)/2 {
					n[d.edge][k]++
				}
			}
			n[d.edge][2*reach+1]++
		}
		return n
	}
	a, b := counts(with), counts(without)
	level := falseAlarm / float64(2*2*edges*3*3*(2*reach+2)*len(chosenCases)*3)
	check := func(claim float64, x, y int, what string) error {
		for _, pair := range [][2]int{{x, y}, {y, x}} {
			if float64(pair[0]) <= math.Exp(claim)*float64(pair[1]) {
				continue
			}
			low, high := 0.0, 1.0
			if pair[0] > 0 {
				low = mathext.InvRegIncBeta(float64(pair[0]), float64(len(with)-pair[0]+1), level)
			}
			if pair[1] < len(without) {
				high = 1 - mathext.InvRegIncBeta(float64(len(without)-pair[1]), float64(pair[1]+1), level)
			}
			if low > math.Exp(claim)*high {
				return fmt.Errorf("%s: at least %.5f beside at most %.5f, a loss of %.3f; the claim is %.3f", what, low, high, math.Log(low/high), claim)
			}
		}
		return nil
	}
	for e := range edges {
		for name, span := range map[string][2]int{"edge %d": {e, e + 1}, "edges to %d": {0, e + 1}, "edges from %d": {e, edges}} {
			for k := range 2*reach + 2 {
				x, y, above, below := 0, 0, 0, 0
				for i := span[0]; i < span[1]; i++ {
					x, y = x+a[i][k], y+b[i][k]
					above, below = above+a[i][2*reach+1]-a[i][k], below+b[i][2*reach+1]-b[i][k]
				}
				if k < reach { // between -z and z
					in, out := 0, 0
					for i := span[0]; i < span[1]; i++ {
						in, out = in+a[i][k]-a[i][2*reach-k], out+b[i][k]-b[i][2*reach-k]
					}
					if err := check(all, in, out, fmt.Sprintf(name+", values within %g", e, float64(reach-k)/2)); err != nil {
						return err
					}
				}
				claim, what := all, fmt.Sprintf(name+", values from %g", e, float64(k-reach)/2)
				if k == 2*reach+1 {
					claim, what = choice, fmt.Sprintf(name, e)
				}
				if err := check(claim, x, y, what); err != nil {
					return err
				}
				if err := check(claim, above, below, "not so: "+what); err != nil && k <= 2*reach {
					return err
				}
			}
		}
	}
	return nil
}

// TestChosenLoss: what choice and release give together on two databases that differ by one unit has probabilities within e^epsilon of each other,
// and which bound was chosen within e^epsilon of the choice's own price; false alarms of all cases together have a probability below 1e-9. Planted bugs are found.
func TestChosenLoss(t *testing.T) {
	for _, c := range chosenCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			open := func(db enginetest.Clinic) *enginetest.Prepared {
				s := enginetest.ClinicSession(t, db, funcs.DuckDB, c.edits...)
				enginetest.Set(t, s, "dpsql.mechanism", "laplace")
				enginetest.Set(t, s, "dpsql.price", c.epsilon)
				p, err := enginetest.Prepare(s, c.sql)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			epsilon := func(p *enginetest.Prepared) *price.Quote {
				mp, err := enginetest.PriceOf(p.Session, p.Analysis())
				if err != nil {
					t.Fatal(err)
				}
				if len(mp.Choices) != 1 {
					t.Fatalf("%d choices", len(mp.Choices))
				}
				return mp
			}
			rows := c.rows(float64(epsilon(open(enginetest.Tame)).Choices[0].(dp.AboveThreshold).Threshold))
			db := enginetest.Clinic{Name: "chosen " + c.name, Data: neighbour.Inside, Change: append(strings.Split(enginetest.Emptied, "; "), rows...)}
			gone := enginetest.Clinic{Name: db.Name + " less one", Data: db.Data, Change: append(slices.Clone(db.Change), neighbour.ClinicCatalog().DeleteUnit(leaver)...)}
			p, q := open(db), open(gone)
			mp := epsilon(p)
			if other := epsilon(q); fmt.Sprint(other.Events()) != fmt.Sprint(mp.Events()) {
				t.Fatal("the plans differ")
			}
			with, without := readSide(t, p), readSide(t, q)
			loss, err := enginetest.FilterOf(p.Session.Engine).Loss(mp.Choices[0])
			if err != nil {
				t.Fatal(err)
			}
			all, edges := mp.Loss.Pure, int(mp.Choices[0].(dp.AboveThreshold).Edges)
			if tag := p.Session.Now.Epsilon; !(all > 0.95*tag && all <= tag && loss.Pure < all/2) {
				t.Fatalf("the claims are %g and %g", loss.Pure, all)
			}
			for _, l := range mp.Lost { // which is not drawn here: TestLostNeighbours holds it
				for _, ev := range []dp.Event{l.Event} {
					of, err := enginetest.FilterOf(p.Session.Engine).Loss(ev)
					if err != nil {
						t.Fatal(err)
					}
					all -= of.Pure
				}
			}
			one, other := product(t, p, mp, chosenDraws, with, with, without, nil), product(t, q, mp, chosenDraws, without, with, without, nil)
			if err := tellsApart(loss.Pure, all, edges, one, other); err != nil {
				t.Error(err)
			}
			if c.topUp {
				src := noise.NewSource()
				tops := func(draws int) error {
					draw := func(p *enginetest.Prepared, of *side, draws int) []drawn {
						return product(t, p, mp, draws, of, with, without, toppedUp(t, p, of, src))
					}
					middle := middles(draw(p, with, 500))
					one, other := draw(p, with, draws), draw(q, without, draws)
					for _, list := range [][]drawn{one, other} {
						for i := range list {
							list[i].z -= middle[list[i].edge]
						}
					}
					return tellsApart(loss.Pure, 2*p.Session.Now.Epsilon, edges, one, other)
				}
				if err := tops(chosenDraws); err != nil {
					t.Errorf("topped up: %v", err)
				}
			}
			both := 0
			for edge, run := range with.runs {
				if other := without.runs[edge]; other != nil {
					both++
					if fmt.Sprint(run) != fmt.Sprint(other) {
						t.Errorf("at the same bound the noise is %v and %v", run, other)
					}
				}
			}
			if both == 0 {
				t.Error("no bound is chosen on both")
			}
			rnd := rand.New(rand.NewPCG(7, 11))
			model := func(bug string, draws int) (one, other []drawn) {
				return careless(t, p, mp, draws, with, with, without, bug, rnd), careless(t, q, mp, draws, without, with, without, bug, rnd)
			}
			ours, theirs := model("", chosenDraws)
			if err := tellsApart(loss.Pure, all, edges, ours, theirs); err != nil {
				t.Errorf("the model of this test: %v", err)
			}
			if err := tellsApart(0, 0, edges, ours, one); err != nil {
				t.Errorf("the model of this test is not the product: %v", err)
			}
			for _, bug := range c.bugs {
				claim := all
				if bug == "share not charged" {
					claim -= loss.Pure
				}
				x, y := model(bug, 10*chosenDraws)
				err := tellsApart(loss.Pure, claim, edges, x, y)
				if err == nil {
					t.Errorf("%s is not found", bug)
				} else if testing.Verbose() {
					t.Logf("%s: %v", bug, err)
				}
			}
		})
	}
}
